import Cryptography
import Synchronization
package import SystemIO

/// The servers that use one database, which notify each other of what they have written there.
///
/// A notification is a datagram with a topic and no content: the server that gets it reads the
/// database. Datagrams may be lost, so every server reads from time to time as well. NOTIFY is not
/// used, because it makes all transactions of a database commit one after the other.
///
/// Each server is in the table `ferry_peers.peer`, with the address from which it reaches the
/// database. Datagrams begin with a secret of the database, so that others cannot cause reads.
package final class PostgresPeers: Sendable {
    private struct State {
        var handlers: [String: @Sendable () -> Void] = [:]
        var peers: [PeerDirectory.Peer] = []
        var isClosed = false
    }

    private let directory: PeerDirectory
    private let state = Mutex(State())
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// The topic with which a server announces itself.
    private static let greeting = "hello"
    /// The interval after which a server looks for others.
    private static let interval = Duration.seconds(10)

    /// Registers this server, and starts to receive.
    ///
    /// - Throws: `PostgresError`, or `SystemError` if there is no socket.
    package init(_ server: PostgresConfiguration, environment: Environment = .system) async throws {
        directory = try await PeerDirectory(server)
        try await refresh()
        notify(Self.greeting)
        try WorkerThread.start(named: "notifications") { [weak self, directory] in
            while !directory.isClosed {
                guard let topic = directory.receive() else { continue }
                self?.receive(topic)
            }
        }
        let task = Task { [weak self] in
            while (try? await environment.sleep(for: Self.interval)) != nil { try? await self?.refresh() }
        }
        work.withLock { $0 = task }
    }

    deinit {
        work.withLock { $0?.cancel() }
        directory.stop()
    }

    /// The number of other servers that were there lately.
    package var count: Int { state.withLock { $0.peers.count } }

    /// Notifies the other servers. Does not wait.
    package func notify(_ topic: String) {
        for peer in state.withLock({ $0.peers }) { directory.send(topic, to: peer) }
    }

    /// Calls `handler` for each notification of a topic, on a thread that it must not block.
    package func onNotification(_ topic: String, _ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.handlers[topic] = handler }
    }

    /// Ends the registration.
    package func close() async {
        work.withLock { $0?.cancel() }
        await directory.leave()
        directory.stop()
    }

    private func receive(_ topic: String) {
        if topic == Self.greeting {
            Task { [weak self] in try? await self?.refresh() }
            return
        }
        state.withLock { $0.handlers[topic] }?()
    }

    private func refresh() async throws {
        let peers = try await directory.refresh()
        state.withLock { $0.peers = peers }
    }
}

/// The table of servers, and the socket of this one.
private final class PeerDirectory: Sendable {
    struct Peer: Sendable {
        let address: IPAddress
        let port: UInt16
    }

    private let thread = SerialThread()
    private let session: Mutex<PostgresSession>
    private let socket: DatagramSocket
    private let address: IPAddress
    private let id: [UInt8]
    private let secret: [UInt8]
    private let closed = Atomic(false)

    /// The seconds after which a server that does not renew its row is taken for dead.
    private static let lifetime: Int64 = 60
    private static let topicLimit = 200

    private static let migrations = [
        [
            "CREATE TABLE ferry_peers.secret(number bigint PRIMARY KEY, value bytea NOT NULL)",
            """
            INSERT INTO ferry_peers.secret VALUES(1, decode(replace(gen_random_uuid()::text, '-', ''), 'hex'))
            """,
            """
            CREATE TABLE ferry_peers.peer(
                id bytea PRIMARY KEY, address text NOT NULL, port bigint NOT NULL, seen bigint NOT NULL)
            """,
        ]
    ]

    init(_ server: PostgresConfiguration) async throws {
        let session = PostgresSession(server)
        let connection = try session.connected()
        try connection.migrate("ferry_peers", Self.migrations)
        let row = try connection.run(
            """
            SELECT value, decode(replace(gen_random_uuid()::text, '-', ''), 'hex'), host(inet_client_addr())
            FROM ferry_peers.secret WHERE number=1
            """)
        (secret, id) = (row.bytes(0, 0), row.bytes(0, 1))
        guard let local = IPAddress("127.0.0.1") else { throw PostgresError("There is no loopback.") }
        // A connection through a Unix socket has no address.
        address = row.isNull(0, 2) ? local : IPAddress(row.text(0, 2)) ?? local
        socket = try DatagramSocket(reachableAt: address, timeout: .seconds(1))
        self.session = Mutex(session)
    }

    deinit { thread.stop() }

    var isClosed: Bool { closed.load(ordering: .relaxed) }

    func stop() { closed.store(true, ordering: .relaxed) }

    func send(_ topic: String, to peer: Peer) {
        socket.send(secret + Array(topic.utf8.prefix(Self.topicLimit)), to: peer.address, port: peer.port)
    }

    /// Waits for a notification, at most a second. Returns nil if there was none.
    func receive() -> String? {
        guard let bytes = socket.receive(), !secret.isEmpty,
            ConstantTime.areEqual(Array(bytes.prefix(secret.count)), secret)
        else { return nil }
        return String(decoding: bytes.dropFirst(secret.count), as: UTF8.self)
    }

    /// Renews the row of this server, and returns the others.
    func refresh() async throws -> [Peer] {
        try await thread.run { [self] in
            try session.withLock { session in
                let now = "extract(epoch FROM clock_timestamp())::bigint"
                let rows = try session.connected().run([
                    PostgresStatement(
                        """
                        INSERT INTO ferry_peers.peer VALUES($1,$2,$3,\(now))
                        ON CONFLICT (id) DO UPDATE SET seen=excluded.seen
                        """, [.bytes(id), .text("\(address)"), .integer(Int64(socket.port))]),
                    PostgresStatement(
                        "DELETE FROM ferry_peers.peer WHERE seen<\(now)-$1", [.integer(Self.lifetime)]),
                    PostgresStatement("SELECT address, port FROM ferry_peers.peer WHERE id<>$1", [.bytes(id)]),
                ])
                guard let found = rows.last else { return [] }
                return (0..<found.count).compactMap { row in
                    guard let address = IPAddress(found.text(row, 0)), let port = UInt16(exactly: found.integer(row, 1))
                    else { return nil }
                    return Peer(address: address, port: port)
                }
            }
        }
    }

    /// Removes the row of this server.
    func leave() async {
        _ = try? await thread.run { [self] in
            try session.withLock { session in
                try session.connected().run("DELETE FROM ferry_peers.peer WHERE id=$1", [.bytes(id)])
                session.close()
            }
        }
    }
}

import GRPCProtocol
import Glibc
import Synchronization
import SystemIO

/// The connection of a channel, and the calls that wait for it.
///
/// `@unchecked Sendable`: what is not constant, atomic or behind the lock is touched on the loop's
/// thread only, and by `deinit`.
final class ChannelCore: LoopMember, @unchecked Sendable {
    private typealias Waiting = (call: ClientCallCore, batch: Outgoing)

    let configuration: GRPCChannelConfiguration
    let authority: String
    let userAgent: String
    private let endpoint: Endpoint?
    private let target: String
    private let proxy: HTTPProxy?
    private let isClosed = Atomic(false)
    private let shared = Mutex<ClientLoop?>(nil)

    private var reconnection: Reconnection
    private var tls: ClientTLS?
    private var dialer: Dialer?
    /// The connection for new calls, from its handshake on.
    private var connection: ClientConnection?
    /// Connections that take no more calls.
    private var leaving: [ObjectIdentifier: ClientConnection] = [:]
    private var waiting: [Waiting] = []
    private var keepaliveFactor = 1

    /// The time limit of a connection attempt, from the end of the name look-up to the server's
    /// first frame.
    private static let attemptLimit = Duration.seconds(20)

    /// Creates a channel that is not connected.
    ///
    /// - Parameter environment: Returns the value of an environment variable.
    init(target: String, configuration: GRPCChannelConfiguration, environment: (String) -> String?) {
        self.target = target
        self.configuration = configuration
        endpoint = Endpoint(target)
        if case .tls(_, let name?) = configuration.security {
            authority = name
        } else {
            authority = endpoint?.authority ?? target
        }
        userAgent = (configuration.userAgent.map { "\($0) " } ?? "") + "grpc-ferry/1"
        proxy = endpoint.flatMap { HTTPProxy.of($0, environment: environment) }
        reconnection = Reconnection(pauses: configuration.reconnectBackoff)
    }

    deinit {
        guard let shared = shared.withLock({ $0 }) else { return }
        shared.remove(ObjectIdentifier(self))
        let (dialer, connections) = (dialer, Array(leaving.values) + [connection].compactMap(\.self))
        guard dialer != nil || !connections.isEmpty else { return }
        shared.loop.later {
            dialer?.cancel()
            for connection in connections { connection.close(Self.closed) }
        }
    }

    // MARK: From any thread

    private static let closed = GRPCStatus(.cancelled, "The channel is closed.")

    /// Returns the loop that runs the channel's calls.
    ///
    /// - Throws: `cancelled` if the channel is closed, `unavailable` if the system has no thread or
    ///   descriptor left.
    func loop() throws(GRPCStatus) -> NetworkLoop {
        if isClosed.load(ordering: .relaxed) { throw Self.closed }
        do throws(SystemError) {
            return try shared.withLock { shared throws(SystemError) in
                if let shared { return shared.loop }
                let loop = try ClientLoop.shared()
                loop.add(self)
                shared = loop
                return loop.loop
            }
        } catch {
            throw GRPCStatus(.unavailable, "No connection to \(target) can be made: \(error)")
        }
    }

    func close() {
        isClosed.store(true, ordering: .relaxed)
        perform { channel in
            channel.dialer?.cancel()
            channel.dialer = nil
            let waiting = channel.waiting
            channel.waiting = []
            for waiting in waiting { waiting.call.end(Self.closed) }
            channel.connection?.close(Self.closed)
            for connection in channel.leaving.values { connection.close(Self.closed) }
        }
    }

    func resetBackoff() {
        perform { channel in
            channel.reconnection.reset()
            channel.sendWaiting()
        }
    }

    /// Runs an action on the loop, unless the channel has not been used yet.
    private func perform(_ action: @escaping @Sendable (ChannelCore) -> Void) {
        guard let loop = shared.withLock({ $0?.loop }) else { return }
        loop.perform { [self] in action(self) }
    }

    // MARK: Calls, on the loop

    /// Sends a call that has no stream yet with its first batch, makes it wait for a connection, or
    /// fails it.
    func open(_ call: ClientCallCore, _ batch: Outgoing) {
        guard !call.hasEnded else { return }
        if isClosed.load(ordering: .relaxed) { return call.end(Self.closed) }
        switch reconnection.answer(isPatient: call.options.waitForReady, at: .now) {
        case .send:
            if let connection { connection.begin(call, batch) } else { call.end(Self.closed) }
        case .fail(let status): call.end(status)
        case .wait: wait(call, batch)
        case .connect:
            wait(call, batch)
            connect()
        }
    }

    private func wait(_ call: ClientCallCore, _ batch: Outgoing) {
        waiting.append((call, batch))
        if let deadline = call.deadline { call.loop.check(at: deadline) }
        if let resumes = reconnection.resumes { call.loop.check(at: resumes) }
    }

    /// Removes a waiting call that has ended.
    func forget(_ call: ClientCallCore) { waiting.removeAll { $0.call === call } }

    private func sendWaiting() {
        let waiting = waiting
        self.waiting = []
        for waiting in waiting { open(waiting.call, waiting.batch) }
    }

    func check(at now: ContinuousClock.Instant) {
        for (call, _) in waiting {
            guard let deadline = call.deadline else { continue }
            if deadline <= now { call.end(ClientCallCore.late) } else { call.loop.check(at: deadline) }
        }
        waiting.removeAll { $0.call.hasEnded }
        guard let resumes = reconnection.resumes, let call = waiting.first?.call else { return }
        if resumes <= now { sendWaiting() } else { call.loop.check(at: resumes) }
    }

    // MARK: The connection, on the loop

    private func connect() {
        guard let shared = shared.withLock({ $0 }) else { return }
        guard let endpoint else {
            return failed(GRPCStatus(.unavailable, "\"\(target)\" is not the address of a server."))
        }
        do throws(GRPCStatus) {
            if case .tls(let roots, let name) = configuration.security, tls == nil {
                tls = try ClientTLS(roots: roots, name: name ?? endpoint.host)
            }
        } catch {
            return failed(error)
        }
        let dialer = Dialer(proxy?.endpoint ?? endpoint, on: shared, limit: Self.attemptLimit)
        self.dialer = dialer
        dialer.start { [weak self] result in
            guard let self else {
                if case .success(let descriptor) = result { _ = Glibc.close(descriptor) }
                return
            }
            self.dialer = nil
            switch result {
            case .failure(let status): failed(status)
            case .success(let descriptor):
                let connection = ClientConnection(
                    descriptor, of: self, on: shared, tls: tls,
                    proxy: proxy.map { ProxyRequest($0, to: endpoint) }, limit: Self.attemptLimit)
                self.connection = connection
                connection.open()
            }
        }
    }

    private func failed(_ status: GRPCStatus) {
        reconnection.failed(status, at: .now, random: .random(in: 0..<1))
        // Calls that do not wait for a connection fail now; the others wait until the pause is
        // over.
        sendWaiting()
    }

    /// Sends the waiting calls, once the server has answered on the connection.
    func connected(_ connection: ClientConnection) {
        guard self.connection === connection else { return }
        reconnection.connected()
        sendWaiting()
    }

    /// Replaces a connection on which the server takes no more calls.
    func detach(_ connection: ClientConnection) {
        guard self.connection === connection else { return }
        leaving[ObjectIdentifier(connection)] = connection
        self.connection = nil
        reconnection.lost()
        sendWaiting()
    }

    /// Removes a connection that was closed.
    func closed(_ connection: ClientConnection, wasConnected: Bool, because status: GRPCStatus) {
        if leaving.removeValue(forKey: ObjectIdentifier(connection)) != nil { return }
        guard self.connection === connection else { return }
        self.connection = nil
        guard wasConnected else { return failed(status) }
        reconnection.lost()
        sendWaiting()
    }

    /// The times for probing a silent server.
    var keepalive: GRPCKeepalive? {
        guard var keepalive = configuration.keepalive else { return nil }
        keepalive.time = keepalive.time * keepaliveFactor
        return keepalive
    }

    /// Doubles the time between pings, because the server reported that they are too frequent.
    func pingLess() { keepaliveFactor = min(2 * keepaliveFactor, 64) }
}

import GRPCProtocol
import Glibc
import SystemIO

/// An attempt to connect to a server: looks up its name, and tries the addresses in turn.
///
/// The next address is tried when the previous one has failed, or after 250 ms without an answer
/// (RFC 8305), so that a network without working IPv6 costs only a moment. The first connection
/// that is established is used.
///
/// `@unchecked Sendable`: all methods are called on the loop's thread.
final class Dialer: @unchecked Sendable {
    private let endpoint: Endpoint
    /// The owner of the thread, which keeps it alive until a look-up has ended.
    private let shared: ClientLoop
    private let limit: Duration
    private var done: ((Result<Int32, GRPCStatus>) -> Void)?
    private var addresses: ArraySlice<SocketAddress> = []
    private var sockets: [Int32: ConnectingSocket] = [:]
    private var nextAddress: ContinuousClock.Instant = .now
    private var deadline: ContinuousClock.Instant?
    private var problem = "no address answers"

    private static let pause = Duration.milliseconds(250)

    /// Creates an attempt that is not started.
    ///
    /// - Parameter limit: The time limit for all addresses together. The system's resolver limits
    ///   the time of a name look-up.
    init(_ endpoint: Endpoint, on shared: ClientLoop, limit: Duration) {
        self.endpoint = endpoint
        self.shared = shared
        self.limit = limit
    }

    private var loop: NetworkLoop { shared.loop }

    /// Starts the attempt. `done` is called once with the connected socket, which it then owns, or
    /// with the reason of the failure.
    func start(_ done: @escaping (Result<Int32, GRPCStatus>) -> Void) {
        self.done = done
        if case .success(let addresses) = SocketAddress.addresses(of: endpoint, isNumeric: true) {
            return begin(addresses)
        }
        do throws(SystemError) {
            try WorkerThread.start(named: "resolver") { [self] in
                let result = SocketAddress.addresses(of: endpoint, isNumeric: false)
                loop.later { [self] in
                    switch result {
                    case .success(let addresses): begin(addresses)
                    case .failure(let failure): fail("its name cannot be looked up: \(failure.reason)")
                    }
                }
            }
        } catch {
            fail("\(error)")
        }
    }

    /// Ends the attempt without calling `done`.
    func cancel() {
        done = nil
        closeSockets()
    }

    private func begin(_ addresses: [SocketAddress]) {
        guard done != nil else { return }
        self.addresses = addresses[...]
        deadline = .now + limit
        loop.check(at: .now + limit)
        tryNext()
    }

    private func tryNext() {
        while done != nil, let address = addresses.popFirst() {
            guard let descriptor = address.connect() else {
                note(errno)
                continue
            }
            let socket = ConnectingSocket(descriptor, self)
            sockets[descriptor] = socket
            guard loop.watch(socket, forReads: false, forWrites: true) else {
                note(errno)
                close(socket)
                continue
            }
            if !addresses.isEmpty {
                nextAddress = .now + Self.pause
                loop.check(at: nextAddress)
            }
            return
        }
        if sockets.isEmpty { fail(problem) }
    }

    fileprivate func ready(_ socket: ConnectingSocket) {
        let number = socket.error
        switch number {
        case nil: return
        case 0:
            sockets[socket.descriptor] = nil
            loop.forget(socket)
            closeSockets()
            finish(.success(socket.descriptor))
        case let number?:
            note(number)
            close(socket)
            tryNext()
        }
    }

    fileprivate func check(at now: ContinuousClock.Instant) {
        guard let deadline, done != nil else { return }
        if now >= deadline { return fail("no address answers") }
        loop.check(at: deadline)
        guard !addresses.isEmpty else { return }
        if now >= nextAddress { tryNext() } else { loop.check(at: nextAddress) }
    }

    private func note(_ number: Int32) { problem = String(cString: strerror(number)) }

    private func fail(_ reason: String) {
        closeSockets()
        finish(.failure(GRPCStatus(.unavailable, "Cannot connect to \(endpoint.authority): \(reason).")))
    }

    private func finish(_ result: Result<Int32, GRPCStatus>) {
        let done = done
        self.done = nil
        done?(result)
    }

    private func closeSockets() {
        for socket in Array(sockets.values) { close(socket) }
    }

    private func close(_ socket: ConnectingSocket) {
        sockets[socket.descriptor] = nil
        loop.forget(socket)
        _ = Glibc.close(socket.descriptor)
    }
}

/// A socket that is being connected.
private final class ConnectingSocket: NetworkSource {
    let descriptor: Int32
    private weak var dialer: Dialer?

    init(_ descriptor: Int32, _ dialer: Dialer) {
        self.descriptor = descriptor
        self.dialer = dialer
    }

    /// The errno(3) of a failed connection, 0 once it is established, or nil while it is in
    /// progress.
    var error: Int32? {
        var number: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size) == 0 else { return errno }
        if number != 0 { return number }
        var peer = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isConnected = withUnsafeMutablePointer(to: &peer) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
        }
        return isConnected ? 0 : nil
    }

    func ready(toRead: Bool, toWrite: Bool) { dialer?.ready(self) }

    func send() {}

    func check(at now: ContinuousClock.Instant) { dialer?.check(at: now) }
}

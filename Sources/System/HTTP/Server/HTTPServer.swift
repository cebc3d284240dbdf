import CMicroHTTPD
import Synchronization

/// An HTTP/1.1 server on one listening socket.
///
/// Each request runs the handler on a task of its own, which is cancelled when the client hangs up and when a stop has
/// taken too long. A request whose target is malformed is answered with 400 without asking the handler. When the
/// handler throws, the answer is 413 for a body over its limit, 400 for a body that broke off, and a bare 500 for all
/// else, which `onError` is told about.
package final class HTTPServer: Sendable {
    package typealias Handler = @Sendable (HTTPServerRequest) async throws -> HTTPResponse

    package struct Limits: Sendable {
        /// Connections at a time; further ones wait in the backlog.
        package var connections = 1024
        /// The same for one address; 0: no limit.
        package var connectionsPerAddress = 0
        /// How long a connection may stand still while the server waits for its client.
        package var idle: Duration = .seconds(75)
        /// Memory of a connection, for its header fields (up to about half of it) and its reads.
        package var connectionMemory = 64 << 10
        /// Size of a request's body in bytes.
        package var body = 64 << 20

        package init() {}
    }

    /// Certificate chain and private key as PEM text.
    package struct TLS: Sendable {
        package var certificates: String
        package var key: String

        package init(certificates: String, key: String) {
            self.certificates = certificates
            self.key = key
        }
    }

    private enum State {
        case idle
        case running(Daemon, ListeningSocket)
        case stopping
        case stopped
    }

    private let address: HTTPServerAddress
    private let tls: TLS?
    private let threads: Int
    private let core: ServerCore
    private let state = Mutex(State.idle)

    /// One thread carries several hundred MB/s; more than one is for many cores.
    package init(
        _ address: HTTPServerAddress, tls: TLS? = nil, limits: Limits = Limits(), threads: Int = 1,
        onError: @escaping @Sendable (any Error) -> Void = { _ in }, handler: @escaping Handler
    ) {
        self.address = address
        self.tls = tls
        self.threads = threads
        core = ServerCore(limits: limits, isSecure: tls != nil, onError: onError, handler: handler)
    }

    /// Listens, and answers where, with the real port. Called once. Throws `.cannotListen`.
    @discardableResult
    package func start() throws -> HTTPServerAddress {
        try state.withLock { state in
            guard case .idle = state else { throw HTTPError(.stopped, "This HTTP server was already started once.") }
            let socket = try ListeningSocket(address)
            do {
                try core.start()
                state = .running(try Daemon(socket, tls, threads, core), socket)
            } catch {
                core.watch.stop()
                socket.close()
                throw error
            }
            return socket.address
        }
    }

    /// Takes no more connections, gives the requests under way that long to end, cancels the rest and returns when all
    /// connections are closed. Handlers that ignore cancellation go on without a client. Does nothing the second time.
    package func stop(within limit: Duration = .seconds(5)) async {
        let running: (Daemon, ListeningSocket)? = state.withLock { state in
            switch state {
            case .running(let daemon, let socket):
                state = .stopping
                return (daemon, socket)
            case .idle:
                state = .stopped
                return nil
            case .stopping, .stopped: return nil
            }
        }
        guard let (daemon, socket) = running else { return }
        daemon.quiesce()
        socket.close()
        await core.drain(within: limit)
        await daemon.stop()
        core.watch.stop()
        state.withLock { $0 = .stopped }
    }
}

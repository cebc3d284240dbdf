import Glibc
package import HTTPMessages
import Synchronization
package import SystemIO

/// An HTTP/1.1 server on one listening socket.
///
/// Each request runs the handler in a task of its own, which is cancelled when the client hangs up
/// or when `stop` reaches its time limit. A request with a malformed target is answered with 400
/// without calling the handler. If the handler throws, the answer is 413 for a body over its limit,
/// 400 for a body that broke off, and 500 without details for any other error, which is passed to
/// `onError`.
package final class HTTPServer: Sendable {
    package typealias Handler = @Sendable (HTTPServerRequest) async throws -> HTTPResponse

    package typealias Limits = HTTPServerLimits
    package typealias TLS = HTTPServerTLS

    /// A loop and its share of the connections.
    private struct Part: Sendable {
        let loop: NetworkLoop
        let core: ServerCore
        let daemon: Daemon

        func onLoop(_ body: @escaping @Sendable (Part) -> Void) async {
            await withCheckedContinuation { continuation in
                loop.perform {
                    body(self)
                    continuation.resume()
                }
            }
        }

        func close() async {
            await onLoop { part in
                part.daemon.close()
                part.core.close()
            }
            loop.stop()
        }
    }

    private enum State {
        case idle
        case running([Part], ListeningSocket)
        case stopping
        case stopped
    }

    private let address: HTTPServerAddress
    private let tls: TLS?
    private let settings: ServerSettings
    private let threads: Int
    private let runsHandlersOnLoop: Bool
    private let state = Mutex(State.idle)

    /// Creates a server that does not listen yet.
    ///
    /// - Parameters:
    ///   - proxies: The proxies whose header fields name a request's client; see
    ///     `HTTPPeer.address`.
    ///   - threads: The number of threads that share the connections.
    ///   - runsHandlersOnLoop: Whether handlers run on the thread that reads their request and
    ///     sends the answer. That saves two thread changes for each request, but no handler may
    ///     block.
    package init(
        _ address: HTTPServerAddress, tls: TLS? = nil, limits: Limits = Limits(),
        proxies: TrustedProxies = TrustedProxies(), threads: Int = 1, runsHandlersOnLoop: Bool = false,
        onError: @escaping @Sendable (any Error) -> Void = { _ in },
        handler: @escaping Handler
    ) {
        self.address = address
        self.tls = tls
        self.threads = max(1, threads)
        self.runsHandlersOnLoop = runsHandlersOnLoop
        settings = ServerSettings(
            limits: limits, proxies: proxies, isSecure: tls != nil, onError: onError, handler: handler)
    }

    /// Starts listening. May be called once.
    ///
    /// - Returns: The address with the actual port.
    /// - Throws: `HTTPError` with the code `.cannotListen`.
    @discardableResult
    package func start() throws -> HTTPServerAddress {
        try state.withLock { state in
            guard case .idle = state else { throw HTTPError(.stopped, "This HTTP server was already started once.") }
            let socket = try ListeningSocket(address)
            var parts: [Part] = []
            let registry = ConnectionRegistry(settings.limits)
            do {
                for _ in 0..<threads { parts.append(try run(socket, registry)) }
            } catch {
                for part in parts { Task { await part.close() } }
                socket.close()
                throw error
            }
            state = .running(parts, socket)
            return socket.address
        }
    }

    private func run(_ socket: ListeningSocket, _ registry: ConnectionRegistry) throws -> Part {
        let loop: NetworkLoop
        do { loop = try NetworkLoop() } catch {
            throw HTTPError(.cannotListen, "No descriptor is left for the HTTP server.", cause: error)
        }
        let core = try ServerCore(settings, registry, on: loop, runsHandlers: runsHandlersOnLoop)
        let daemon = try Daemon(socket, tls, on: loop, core)
        do {
            guard core.open(advancing: { daemon.advance() }), daemon.open() else {
                throw HTTPError(.cannotListen, "The system refuses to wait for more sockets.")
            }
            try loop.start(named: "http-loop")
        } catch {
            daemon.close()
            core.close()
            throw error as? HTTPError
                ?? HTTPError(.cannotListen, "The system gave no thread for the HTTP server.", cause: error)
        }
        return Part(loop: loop, core: core, daemon: daemon)
    }

    /// Serves a connection that another server has accepted and of which nothing has been read.
    /// Takes over its descriptor, and closes it at once if this server does not run.
    package func adopt(_ descriptor: Int32) {
        let part = state.withLock { state -> Part? in
            guard case .running(let parts, _) = state else { return nil }
            return parts[Int(descriptor.magnitude) % parts.count]
        }
        guard let part else {
            _ = Glibc.close(descriptor)
            return
        }
        part.loop.perform { part.daemon.adopt(descriptor) }
    }

    /// Stops accepting connections, waits up to `limit` for requests in progress, cancels the
    /// others, and returns when all connections are closed.
    ///
    /// A handler that ignores cancellation goes on without a client. A second call does nothing.
    package func stop(within limit: Duration = .seconds(5)) async {
        let running: ([Part], ListeningSocket)? = state.withLock { state in
            switch state {
            case .running(let parts, let socket):
                state = .stopping
                return (parts, socket)
            case .idle:
                state = .stopped
                return nil
            case .stopping, .stopped: return nil
            }
        }
        guard let (parts, socket) = running else { return }
        for part in parts { await part.onLoop { $0.daemon.quiesce() } }
        socket.close()
        await withTaskGroup { group in
            for part in parts { group.addTask { await part.core.drain(within: limit) } }
        }
        for part in parts { await part.close() }
        state.withLock { $0 = .stopped }
    }
}

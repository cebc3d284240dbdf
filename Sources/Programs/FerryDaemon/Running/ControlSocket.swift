import Control
import HTTPMessages
import HTTPServer
import SystemIO
import SystemService

/// The control socket: one passed by systemd, or one created in a private directory.
struct ControlSocket: Service {
    private let server: HTTPServer
    /// The path of the socket.
    let path: String
    private let onStop: @Sendable () async -> Void

    /// Starts listening.
    ///
    /// - Parameter onStop: Ends the streams, which have no end of their own.
    init(
        path: String, logger: Logger,
        respond: @escaping @Sendable (_ request: ControlRequest, _ user: UInt32?) async -> HTTPResponse,
        onStop: @escaping @Sendable () async -> Void = {}
    ) throws {
        let inherited = InheritedSocket.takeAll()
        let passed = inherited.first { $0.name == "control" } ?? inherited.first
        let address: HTTPServerAddress
        if let passed {
            guard passed.isUnix, passed.isListening else {
                throw DaemonError(.configuration, "systemd's control socket is not a listening Unix socket.")
            }
            address = .descriptor(passed.descriptor)
        } else {
            do { try FileSystem.makeDirectories(FileSystem.split(path).parent, mode: 0o700) } catch {
                throw DaemonError(
                    .failed, "The directory of the control socket cannot be created: \(error.message).", cause: error)
            }
            address = .unix(path: path)
        }
        var limits = HTTPServer.Limits()
        limits.connections = 128
        limits.body = 4 << 20
        server = HTTPServer(
            address, limits: limits, onError: { logger.warning("a request failed", ["error": "\($0)"]) },
            handler: { request in
                await respond(
                    ControlRequest(request.method, request.target, headers: request.headers, body: request.body),
                    request.peer.credentials?.userID)
            })
        do {
            guard case .unix(let bound) = try server.start() else {
                self.path = path
                self.onStop = onStop
                return
            }
            self.path = bound
        } catch {
            throw DaemonError(.failed, "\(error)", cause: error)
        }
        self.onStop = onStop
    }

    func run() async throws {
        await GracefulStop.wait()
        await onStop()
        await server.stop(within: .seconds(1))
    }
}

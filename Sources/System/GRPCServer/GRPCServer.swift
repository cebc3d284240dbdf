import Synchronization

/// A server for gRPC calls over HTTP/2.
///
///     let server = GRPCServer(configuration, routes: routes)
///     let port = try server.start()
///     …
///     await server.shutdown(within: .seconds(5))
///
/// Each call runs its handler in a task of its own, on the thread that reads its connection, so a
/// handler must not block. Releasing the last reference cancels all calls and stops the server.
package final class GRPCServer: Sendable {
    private let configuration: GRPCServerConfiguration
    private let resolve: @Sendable (String) -> GRPCMethod?
    private let core = Mutex<ServerCore?>(nil)

    /// Creates a server with a table of methods. Calls of other methods end with `unimplemented`.
    package init(_ configuration: GRPCServerConfiguration = GRPCServerConfiguration(), routes: GRPCRoutes) {
        self.configuration = configuration
        resolve = { routes[$0] }
    }

    /// Creates a server with one handler, which reads the path itself. See `GRPCMethod.streaming`
    /// for what the handler may do.
    package init(
        _ configuration: GRPCServerConfiguration = GRPCServerConfiguration(),
        handler: @escaping @Sendable (GRPCServerCall) async throws -> Void
    ) {
        self.configuration = configuration
        resolve = { _ in .streaming(handler) }
    }

    deinit {
        guard let core = core.withLock({ $0 }) else { return }
        core.shutDown()
        core.cancelAllCalls()
    }

    /// Binds the address and starts to accept calls.
    ///
    /// - Returns: The port. It is the configured one unless that is 0.
    /// - Throws: `GRPCServerError` if the address cannot be bound, the certificate is bad, or the
    ///   server was started before.
    @discardableResult
    package func start() throws(GRPCServerError) -> Int {
        let result = core.withLock { core -> Result<Int, GRPCServerError> in
            if core != nil {
                return .failure(GRPCServerError(code: .alreadyStarted, message: "The server was started before."))
            }
            do throws(GRPCServerError) {
                let started = try ServerCore(configuration, resolve: resolve)
                try started.run()
                core = started
                return .success(started.port)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Stops accepting calls, gives the calls in progress until the limit to end, and cancels the
    /// rest.
    ///
    /// Returns when the port is free and all handlers have returned, so a handler that ignores its
    /// cancellation delays it. Cancelling the task ends the time limit at once. Has no effect on a
    /// server that was not started.
    package func shutdown(within limit: Duration) async {
        guard let core = core.withLock({ $0 }) else { return }
        core.shutDown()
        await withTaskCancellationHandler {
            await withTaskGroup { group in
                group.addTask {
                    do {
                        try await Task.sleep(for: limit)
                        core.cancelAllCalls()
                    } catch {}
                }
                await core.waitUntilShutDown()
                group.cancelAll()
            }
        } onCancel: {
            core.cancelAllCalls()
        }
    }
}

import SystemService

extension Service {
    /// Follows something until this service is asked to stop or its task is cancelled.
    ///
    /// If it cannot be followed, that is logged, and the service stays without it: the program goes
    /// on, and other means report what has happened later.
    func follow(
        _ subject: String, _ logger: Logger, _ operation: @escaping @Sendable () async throws -> Void
    ) async {
        let following = Task { try await operation() }
        await GracefulStop.withHandler {
            do {
                try await withTaskCancellationHandler {
                    try await following.value
                } onCancel: {
                    following.cancel()
                }
            } catch is CancellationError {
            } catch {
                logger.notice("\(subject) cannot be watched", ["reason": "\(error)"])
                await GracefulStop.wait()
            }
        } onRequest: {
            following.cancel()
        }
    }
}

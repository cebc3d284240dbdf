import HTTPMessages
package import SystemIO
package import SystemService

/// The service of a standby: keeps its copy of a server's data fresh.
package struct ReplicationService: Service {
    let copy: StandbyCopy
    /// The time from the end of a pull to the next one.
    let interval: Duration
    let logger: Logger
    let environment: Environment
    /// Called after the first complete pull of this run.
    let onReady: @Sendable () -> Void

    /// The share of its time that a standby spends on pulls of a large database at most.
    private static let pauses = 4

    package init(
        _ copy: StandbyCopy, every interval: Duration, logger: Logger, environment: Environment = .system,
        onReady: @escaping @Sendable () -> Void
    ) {
        (self.copy, self.interval, self.logger, self.environment, self.onReady) =
            (copy, interval, logger, environment, onReady)
    }

    package func run() async throws {
        let pulling = Task {
            var (isReady, hasFailed) = (false, false)
            while !Task.isCancelled {
                let start = environment.now()
                do {
                    let summary = try await copy.pull()
                    if summary.databases + summary.objects > 0 {
                        logger.debug("copied", ["objects": "\(summary.objects)", "bytes": "\(summary.bytes)"])
                    }
                    if hasFailed { logger.notice("the copy is up to date again") }
                    if !isReady { onReady() }
                    (isReady, hasFailed) = (true, false)
                } catch is CancellationError {
                    return
                } catch {
                    if !hasFailed { logger.warning("the copy is not up to date", ["error": "\(error)"]) }
                    hasFailed = true
                }
                try? await environment.sleep(for: max(interval, (environment.now() - start) * Self.pauses))
            }
        }
        await GracefulStop.wait()
        pulling.cancel()
        await pulling.value
    }
}

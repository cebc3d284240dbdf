import SystemIO
package import SystemService

/// A service that removes the objects of attachments that no document needs, once a day.
package struct CollectionService: Service {
    package typealias Collection = @Sendable () async throws -> CollectionReport

    /// The collections, one for each place. They are cancelled when the service stops.
    let collections: [Collection]
    let logger: Logger
    /// Reclaims space after each round and at each request; returns the damaged objects that could
    /// not be moved.
    package var reclaimSpace: @Sendable () async throws -> [String] = { [] }
    /// Removes the data of deleted accounts. Called at the start and at each request.
    package var removeDeletedAccounts: @Sendable () async throws -> Void = {}
    /// A stream that yields for each request, such as those of `ferry-server objects gc`.
    package var requests = AsyncStream<Void> { $0.finish() }
    /// The time from the start to the first round, so that a restarted server is available rather
    /// than busy.
    package var delay = Duration.seconds(3600)
    package var interval = Duration.seconds(24 * 3600)
    var environment = Environment.system

    package init(_ collections: [Collection], logger: Logger) {
        self.collections = collections
        self.logger = logger
    }

    package func run() async throws {
        let working = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await work() }
                group.addTask { await removeAccounts() }
                for await _ in requests {
                    await removeAccounts()
                    await giveBack()
                }
            }
        }
        await GracefulStop.wait()
        working.cancel()
        await working.value
    }

    private func work() async {
        var pause = delay
        while (try? await environment.sleep(for: pause)) != nil {
            pause = interval
            await removeAccounts()
            for collection in collections {
                await attempt { tell(try await collection()) }
            }
            await giveBack()
            ProcessMemory.giveBack()
        }
    }

    private func removeAccounts() async {
        await attempt("the data of deleted accounts was not removed", removeDeletedAccounts)
    }

    private func giveBack() async {
        await attempt { tell(problems: try await reclaimSpace()) }
    }

    private func attempt(
        _ failure: String = "unused objects of attachments were not removed", _ work: () async throws -> Void
    ) async {
        do {
            try await work()
        } catch is CancellationError {
        } catch {
            logger.error("\(failure)", ["error": "\(error)"])
        }
    }

    private func tell(problems: [String]) {
        for problem in problems.prefix(20) { logger.warning("attachments", ["problem": problem]) }
    }

    private func tell(_ report: CollectionReport) {
        tell(problems: report.problems)
        guard report.removed.objects > 0 || report.expiredUploads > 0 else { return }
        logger.notice(
            "removed unused objects of attachments",
            [
                "objects": "\(report.removed.objects)", "bytes": "\(report.removed.bytes)",
                "uploads": "\(report.expiredUploads)",
            ])
    }
}

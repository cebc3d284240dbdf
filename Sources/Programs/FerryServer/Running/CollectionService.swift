import SQLite
import Synchronization
import SystemIO
import SystemService

/// Takes away, once a day, what of the attachments no document needs any more.
struct CollectionService: Service {
    /// Collects; asked in between whether to stop.
    let collect: @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> ObjectCollection.Report
    let logger: Logger
    /// Called after each collection.
    var discardReleased: @Sendable () async throws -> Void = {}
    /// From the start to the first time: whoever restarts the server wants it up, not busy.
    var delay = Duration.seconds(3600)
    var interval = Duration.seconds(24 * 3600)

    /// The collection of a data directory, by the wall clock.
    init(
        _ layout: DataLayout, graceDays: Int, keepsAttachments: Bool, logger: Logger,
        discardReleased: @escaping @Sendable () async throws -> Void
    ) {
        self.init(logger: logger) { isCancelled in
            try ObjectCollection(
                layout: layout, now: WallClock.microseconds(), grace: ObjectCollection.microseconds(days: graceDays),
                keepsAttachments: keepsAttachments, isCancelled: isCancelled
            ).run(changes: true)
        }
        self.discardReleased = discardReleased
    }

    init(
        logger: Logger,
        collect: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> ObjectCollection.Report
    ) {
        self.logger = logger
        self.collect = collect
    }

    func run() async throws {
        let working = Task { await work() }
        await GracefulStop.wait()
        working.cancel()
        await working.value
    }

    private func work() async {
        let thread = SerialThread()
        defer { thread.stop() }
        var pause = delay
        while (try? await Task.sleep(for: pause)) != nil {
            pause = interval
            let flag = Flag()
            do {
                let report = try await withTaskCancellationHandler {
                    try await thread.run { [collect] in try collect { flag.isSet.load(ordering: .relaxed) } }
                } onCancel: {
                    flag.isSet.store(true, ordering: .relaxed)
                }
                tell(report)
                try await discardReleased()
            } catch is CancellationError {
                return
            } catch {
                logger.error("attachments that nothing needs were not removed", ["error": "\(error)"])
            }
            ProcessMemory.giveBack()
        }
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    private func tell(_ report: ObjectCollection.Report) {
        for problem in report.problems.prefix(20) { logger.warning("attachments", ["problem": problem]) }
        guard report.removed.objects > 0 || report.expiredUploads > 0 else { return }
        logger.notice(
            "removed what nothing needs",
            [
                "objects": "\(report.removed.objects)", "bytes": "\(report.removed.bytes)",
                "uploads": "\(report.expiredUploads)",
            ])
    }
}

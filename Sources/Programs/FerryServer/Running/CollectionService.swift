import SQLite
import Synchronization
import SystemIO
import SystemService

/// Takes away, once a day, what of the attachments no document needs any more.
struct CollectionService: Service {
    typealias Collection = @Sendable () async throws -> CollectionReport

    /// Of one place each; when the service stops they are cancelled.
    let collections: [Collection]
    let logger: Logger
    /// Called after each round, and when somebody asks for it; answers what is in its way.
    var reclaimSpace: @Sendable () async throws -> [String] = { [] }
    /// Removes what deleted accounts have left; called at the start and at each request.
    var removeDeletedAccounts: @Sendable () async throws -> Void = {}
    /// One for each time that somebody asks, as `ferry-server objects gc` does.
    var requests = AsyncStream<Void> { $0.finish() }
    /// From the start to the first time: whoever restarts the server wants it up, not busy.
    var delay = Duration.seconds(3600)
    var interval = Duration.seconds(24 * 3600)

    /// Of what a server keeps itself, and of what it keeps elsewhere if it has the keys.
    init(_ configuration: ServerConfiguration, logger: Logger) throws {
        let layout = DataLayout(path: configuration.data)
        var collections: [Collection] = []
        collections.append {
            try await Self.aside { isCancelled in
                try ObjectCollection(
                    layout: layout, now: WallClock.microseconds(),
                    grace: ObjectCollection.microseconds(days: configuration.objectsGraceDays),
                    keepsAttachments: configuration.objects == nil, isCancelled: isCancelled
                ).run(changes: true)
            }
        }
        if let collection = try ForeignCollection(configuration) {
            collections.append { try await collection.run(changes: true) }
        }
        self.init(collections, logger: logger)
    }

    init(_ collections: [Collection], logger: Logger) {
        self.collections = collections
        self.logger = logger
    }

    func run() async throws {
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
        while (try? await Task.sleep(for: pause)) != nil {
            pause = interval
            for collection in collections {
                await attempt { tell(try await collection()) }
            }
            await giveBack()
            ProcessMemory.giveBack()
        }
    }

    private func removeAccounts() async {
        await attempt("what deleted accounts have left was not removed", removeDeletedAccounts)
    }

    private func giveBack() async {
        await attempt { tell(problems: try await reclaimSpace()) }
    }

    private func attempt(
        _ failure: String = "attachments that nothing needs were not removed", _ work: () async throws -> Void
    ) async {
        do {
            try await work()
        } catch is CancellationError {
        } catch {
            logger.error("\(failure)", ["error": "\(error)"])
        }
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Runs, on a thread of its own, what blocks and asks now and then whether its task was cancelled.
    static func aside<Result: Sendable>(
        _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Result
    ) async throws -> Result {
        let thread = SerialThread()
        defer { thread.stop() }
        let flag = Flag()
        return try await withTaskCancellationHandler {
            try await thread.run { try work { flag.isSet.load(ordering: .relaxed) } }
        } onCancel: {
            flag.isSet.store(true, ordering: .relaxed)
        }
    }

    private func tell(problems: [String]) {
        for problem in problems.prefix(20) { logger.warning("attachments", ["problem": problem]) }
    }

    private func tell(_ report: CollectionReport) {
        tell(problems: report.problems)
        guard report.removed.objects > 0 || report.expiredUploads > 0 else { return }
        logger.notice(
            "removed what nothing needs",
            [
                "objects": "\(report.removed.objects)", "bytes": "\(report.removed.bytes)",
                "uploads": "\(report.expiredUploads)",
            ])
    }
}

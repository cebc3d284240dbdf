import Synchronization

extension SerialThread {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Runs blocking work on a thread of its own. The work checks from time to time whether its
    /// task was cancelled.
    package static func runOnce<Result: Sendable>(
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
}

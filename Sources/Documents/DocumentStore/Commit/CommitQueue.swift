package import DocumentModel
import Synchronization

/// The commits that were requested and that the writer has not taken, in the order of their arrival.
package final class CommitQueue: Sendable {
    private struct State {
        var jobs: [CommitJob] = []
        var isScheduled = false
        var isClosed = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether new commits are refused.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds a commit, and returns its result when the writer has ended it.
    ///
    /// - Parameter schedule: Lets the writer call `next` soon. It is called unless that is to happen anyway.
    /// - Throws: `.closed` if the queue is closed, otherwise the error with which the writer has ended the commit.
    package func commit(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition?, guarding: CommitGuard?,
        schedule: () -> Void
    ) async throws -> CommitResult {
        try await withCheckedThrowingContinuation { continuation in
            let job = CommitJob(
                writes: writes, transaction: transaction, position: position, guarding: guarding,
                continuation: continuation)
            let (isAccepted, mustSchedule) = state.withLock { state in
                guard !state.isClosed else { return (false, false) }
                state.jobs.append(job)
                defer { state.isScheduled = true }
                return (true, !state.isScheduled)
            }
            if !isAccepted { continuation.resume(throwing: DocumentStoreError.closed) }
            if mustSchedule { schedule() }
        }
    }

    /// Removes the commits of the next group.
    ///
    /// - Parameters:
    ///   - count: The maximum number of commits.
    ///   - bytes: No commit is added to a group that has this size; nil if the size does not matter.
    /// - Returns: The commits, and whether the writer must call this function again.
    package func next(_ count: Int, bytes: Int? = nil) -> (jobs: [CommitJob], hasMore: Bool) {
        state.withLock { state in
            var group = state.jobs.prefix(count)
            if let bytes {
                var size = 0
                group = group.prefix { job in
                    defer { size += job.size }
                    return size < bytes
                }
            }
            state.jobs.removeFirst(group.count)
            state.isScheduled = !state.jobs.isEmpty
            return (Array(group), state.isScheduled)
        }
    }

    /// Refuses new commits. Returns those that no group has taken.
    package func close() -> [CommitJob] {
        state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
            return state.jobs
        }
    }
}

extension CommitJob {
    /// The approximate number of bytes that the commit stores.
    fileprivate var size: Int {
        writes.reduce(0) { size, write in
            guard case .update(let name, let fields) = write.operation else { return size + 100 }
            return size + DocumentLimits.size(of: name, fields: fields)
        }
    }
}

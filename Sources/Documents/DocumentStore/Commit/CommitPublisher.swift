import DocumentModel
import SQLite
import Synchronization
import SystemIO

/// Syncs groups of commits to disk, and then notifies the clock, the listeners and the callers, in
/// order.
///
/// While the publisher waits for the disk, the writer applies the next groups. All groups that are
/// present when a sync ends share the next one, so the number of commits per second does not depend
/// on the duration of a sync.
final class CommitPublisher: Sendable {
    private struct State {
        var groups: [CommitGroup] = []
        var isScheduled = false
        var failure: DocumentStoreError?
        /// Whether the writer failed to repair the failure.
        var isHopeless = false
        /// The number of commits that were waiting when the last sync ended, and the duration of
        /// that sync.
        var last = (commits: 0, duration: Duration.zero)

        var answerCount: Int { groups.reduce(0) { $0 + $1.answers.count } }

        /// Marks the publisher as scheduled. Returns whether the caller must start its thread.
        mutating func schedule() -> Bool {
            guard failure == nil, !isScheduled, !groups.isEmpty else { return false }
            isScheduled = true
            return true
        }
    }

    private let thread = SerialThread()
    private let state = Mutex(State())
    /// Set for each group that arrives.
    private let arrivals = ThreadEvent()
    private let log: FileDescriptor
    private let synchronize: @Sendable (borrowing FileDescriptor) throws -> Void
    private let listeners: ListenHub
    private let transactions: TransactionRegistry
    private let environment: Environment

    /// Creates a publisher.
    ///
    /// - Parameters:
    ///   - log: the file to which SQLite appends commits.
    ///   - synchronize: returns once everything written to the file before is on disk.
    init(
        log: consuming FileDescriptor, synchronize: @escaping @Sendable (borrowing FileDescriptor) throws -> Void,
        listeners: ListenHub, transactions: TransactionRegistry, environment: Environment
    ) {
        self.log = log
        self.synchronize = synchronize
        self.listeners = listeners
        self.transactions = transactions
        self.environment = environment
    }

    deinit { thread.stop() }

    /// The error for which commits stored in SQLite may not be on disk; nil if there is none.
    ///
    /// Another sync could not correct this, because the kernel may have dropped the pages that it
    /// failed to write. The writer must store the commits elsewhere and then call `repaired`.
    var failure: DocumentStoreError? { state.withLock { $0.failure } }

    /// Adds a group to be published.
    ///
    /// - Parameter writer: notified when a transaction has ended or a sync has failed.
    func publish(_ group: CommitGroup, for writer: CommitWriter) {
        let (mustSchedule, isHopeless) = state.withLock { state in
            state.groups.append(group)
            return (state.schedule(), state.isHopeless)
        }
        arrivals.set()
        if mustSchedule { schedule(for: writer) }
        if isHopeless { giveUp(for: writer) }
    }

    /// Reports that all groups so far are on disk.
    func repaired(for writer: CommitWriter) {
        let mustSchedule = state.withLock { state in
            state.failure = nil
            state.isHopeless = false
            for index in state.groups.indices { state.groups[index].needsSync = false }
            return state.schedule()
        }
        if mustSchedule { schedule(for: writer) }
    }

    /// Reports to all waiting callers that their commits may be lost, until `repaired` is called.
    /// If the commits become durable after all, listeners are notified of them.
    func giveUp(for writer: CommitWriter) {
        let (answers, failure) = state.withLock { state in
            state.isHopeless = true
            let answers = state.groups.flatMap(\.answers)
            state.groups.removeAll { !$0.needsSync }
            for index in state.groups.indices { state.groups[index].answers = [] }
            return (answers, state.failure)
        }
        for answer in answers { give(answer, failing: failure, for: writer) }
    }

    private func schedule(for writer: CommitWriter) {
        thread.async { [self] in run(for: writer) }
    }

    private func run(for writer: CommitWriter) {
        while true {
            waitForFurtherCommits()
            let groups = state.withLock { state in
                state.isScheduled = !state.groups.isEmpty
                return state.groups
            }
            guard !groups.isEmpty else { return }
            let start = environment.now()
            do {
                if groups.contains(where: \.needsSync) { try synchronize(log) }
            } catch {
                state.withLock { state in
                    state.isScheduled = false
                    state.failure = DocumentStoreError(
                        .unavailable, "The disk does not take commits (\(error)): nothing is committed until it does.")
                }
                return writer.repairSoon()
            }
            let duration = environment.now() - start
            state.withLock { state in
                state.last = (state.answerCount, duration)
                state.groups.removeFirst(groups.count)
            }
            for group in groups { tell(group, for: writer) }
        }
    }

    /// Waits, if syncs are slow, for the next commits of the clients whose commits the last sync made
    /// durable.
    ///
    /// Otherwise two groups of clients would alternate, and each sync would cover only half of the
    /// commits that it could. Stops waiting when no more commits arrive.
    private func waitForFurtherCommits() {
        let last = state.withLock { $0.last }
        let patience = min(last.duration * 3 / 4, .milliseconds(10))
        guard patience > .microseconds(250) else { return }
        let start = environment.now()
        var (count, arrival) = (0, start)
        while true {
            let (present, now) = (state.withLock { $0.answerCount }, environment.now())
            if present != count { (count, arrival) = (present, now) }
            let end = min(start + patience, arrival + patience / 4)
            if count >= last.commits || now >= end { return }
            arrivals.wait(atMost: end - now)
        }
    }

    private func tell(_ group: CommitGroup, for writer: CommitWriter) {
        listeners.publish(group.records, lease: group.lease)
        for answer in group.answers { give(answer, failing: nil, for: writer) }
    }

    private func give(_ answer: CommitGroup.Answer, failing failure: DocumentStoreError?, for writer: CommitWriter) {
        switch answer {
        case .committed(let job, let result):
            end(job, for: writer)
            if let failure {
                job.continuation.resume(throwing: failure)
            } else {
                job.continuation.resume(returning: result)
            }
        case .refused(let job, let error):
            end(job, for: writer)
            job.continuation.resume(throwing: failure ?? DocumentStoreError(error))
        case .barrier(let continuation):
            if let failure { continuation.resume(throwing: failure) } else { continuation.resume() }
        }
    }

    /// Ends the transaction of a commit, also if the commit failed.
    private func end(_ job: CommitJob, for writer: CommitWriter) {
        if let transaction = job.transaction, transactions.end(transaction) {
            writer.retryWaiting(for: transaction)
        }
    }
}

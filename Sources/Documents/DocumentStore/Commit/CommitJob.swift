package import DocumentModel

/// A commit whose caller waits for its result.
package struct CommitJob: Sendable {
    package let writes: [Write]
    package let transaction: TransactionID?
    package let position: StreamPosition?
    package let guarding: CommitGuard?
    /// The account on whose behalf the commit is made; nil for the operator.
    package var account: String? { guarding?.account }
    /// The time at which waiting for locks ends. Set when the commit first has to wait.
    package var deadline: Duration?
    package let continuation: CheckedContinuation<CommitResult, any Error>

    package init(
        writes: [Write], transaction: TransactionID?, position: StreamPosition?, guarding: CommitGuard?,
        continuation: CheckedContinuation<CommitResult, any Error>
    ) {
        self.writes = writes
        self.transaction = transaction
        self.position = position
        self.guarding = guarding
        self.continuation = continuation
    }
}

/// The commits of one SQLite transaction. Neither their results, nor refusals based on them, may be
/// reported before they are on disk.
struct CommitGroup: Sendable {
    enum Answer {
        case committed(CommitJob, CommitResult)
        case refused(CommitJob, any Error)
        /// A caller that waits until everything before has been published.
        case barrier(CheckedContinuation<Void, any Error>)
    }

    var answers: [Answer] = []
    var records: [CommitRecord] = []
    /// The new lease of the clock, if it was renewed.
    var lease: Int64?
    var needsSync = false

    static func refusing(_ jobs: [CommitJob], _ error: any Error) -> CommitGroup {
        CommitGroup(answers: jobs.map { .refused($0, error) })
    }

    var newest: Int64? { records.last?.time.microseconds }
}

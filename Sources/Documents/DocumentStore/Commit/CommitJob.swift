import DocumentModel

/// A commit that somebody waits for.
struct CommitJob: Sendable {
    let writes: [Write]
    let transaction: TransactionID?
    let position: StreamPosition?
    let guarding: CommitGuard?
    /// On whose behalf the commit is made; nil for the operator.
    var account: String? { guarding?.account }
    /// When waiting for locks ends; set when the commit first has to wait.
    var deadline: Duration?
    let continuation: CheckedContinuation<CommitResult, any Error>
}

/// What SQLite took in one transaction. Nobody may hear of it before it is on the disk, nor of what was decided upon it.
struct CommitGroup: Sendable {
    enum Answer {
        case committed(CommitJob, CommitResult)
        case refused(CommitJob, any Error)
        /// Somebody waits for everything that came before.
        case barrier(CheckedContinuation<Void, any Error>)
    }

    var answers: [Answer] = []
    var records: [CommitRecord] = []
    /// What the clock may use from then on.
    var lease: Int64?
    var needsSync = false

    static func refusing(_ jobs: [CommitJob], _ error: any Error) -> CommitGroup {
        CommitGroup(answers: jobs.map { .refused($0, error) })
    }

    var newest: Int64? { records.last?.time.microseconds }
}

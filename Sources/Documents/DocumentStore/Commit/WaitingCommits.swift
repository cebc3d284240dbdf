/// The commits that wait for the locks of transactions.
package struct WaitingCommits {
    package struct Element {
        package fileprivate(set) var job: CommitJob
        /// The time at which one of the transactions expires or the wait ends.
        package fileprivate(set) var until: Duration
        package let transactions: Set<TransactionID>

        package init(job: CommitJob, until: Duration, transactions: Set<TransactionID>) {
            self.job = job
            self.until = until
            self.transactions = transactions
        }
    }

    private var elements: [Element] = []

    package init() {}

    package var isEmpty: Bool { elements.isEmpty }

    /// Lets a commit wait. Returns the time at which it is to be tried again at the latest.
    ///
    /// - Throws: the error with which the commit is refused, if it has waited for as long as it may,
    ///   or if too many commits of the account wait.
    package mutating func add(
        _ commit: Element, at now: Duration, limits: LockTable.Limits
    ) throws(DocumentStoreError) -> Duration {
        var commit = commit
        let deadline = commit.job.deadline ?? now + limits.lockWait
        commit.job.deadline = deadline
        guard now < deadline else { throw .lockTimeout }
        if let account = commit.job.account {
            let limit = limits.account.waitingCommits
            guard elements.count(where: { $0.job.account == account }) < limit else {
                throw .tooManyWaitingCommits(limit)
            }
        }
        commit.until = min(deadline, commit.until)
        elements.append(commit)
        return commit.until
    }

    /// Removes and returns the commits that are due.
    package mutating func take(where isDue: (Element) -> Bool) -> [CommitJob] {
        let jobs = elements.filter(isDue).map(\.job)
        elements.removeAll(where: isDue)
        return jobs
    }
}

import DocumentModel

/// Which read-write transactions are open, and what each has read and so locked.
///
/// A commit may change what a transaction has read only once that transaction has ended. The older of the two goes first:
/// an older committer aborts the younger transactions in its way, a younger one waits. Ages are unique and a retry keeps
/// its age, so waiting never goes round in a circle and every transaction is at some time the oldest. A pure value: time comes in
/// with each event.
struct LockTable {
    struct Limits: Sendable {
        /// After this long without a read, and after this long altogether, a transaction is over.
        var idle: Duration = .seconds(60)
        var total: Duration = .seconds(270)
        /// How long a commit waits for locks.
        var lockWait: Duration = .seconds(15)
        /// How many transactions may be open at a time.
        var open = 10_000
    }

    /// The results of a query that a transaction has read, which must stay what they were.
    struct LockedQuery: Sendable {
        let matches: @Sendable (Document) -> Bool
    }

    private struct Transaction {
        let age: UInt64
        let begun: Duration
        var lastUsed: Duration
        var documents: Set<DocumentName> = []
        var queries: [LockedQuery] = []
    }

    /// What stands in a commit's way.
    enum Verdict: Equatable {
        /// Nothing (any more); younger transactions were aborted for it if need be.
        case go
        /// Older transactions; the soonest of them expires by itself at this time.
        case wait(until: Duration)
    }

    private let limits: Limits
    private var transactions: [TransactionID: Transaction] = [:]
    /// At so many open transactions those that were abandoned are looked for.
    private var sweepCount = 1000
    private var holders: [DocumentName: Set<TransactionID>] = [:]
    /// Transactions that were aborted for an older one and do not know it yet, oldest news first.
    private var aborted: [TransactionID] = []

    init(limits: Limits) {
        self.limits = limits
    }

    var openCount: Int { transactions.count }

    /// - Throws: if too many are open.
    mutating func begin(_ id: TransactionID, age: UInt64, at now: Duration) throws(DocumentStoreError) {
        if transactions.count >= min(sweepCount, limits.open) {
            for (id, transaction) in transactions where isExpired(transaction, at: now) { end(id) }
            sweepCount = max(1000, 2 * transactions.count)
        }
        guard transactions.count < limits.open else { throw .tooManyTransactions }
        transactions[id] = Transaction(age: age, begun: now, lastUsed: now)
    }

    /// Locks what the transaction is about to read.
    mutating func lock(_ id: TransactionID, documents: [DocumentName], queries: [LockedQuery], at now: Duration)
        throws(DocumentStoreError)
    {
        try check(id, at: now)
        transactions[id]?.lastUsed = now
        transactions[id]?.documents.formUnion(documents)
        transactions[id]?.queries += queries
        for name in documents { holders[name, default: []].insert(id) }
    }

    /// Throws unless the transaction is open.
    mutating func check(_ id: TransactionID, at now: Duration) throws(DocumentStoreError) {
        if let transaction = transactions[id], isExpired(transaction, at: now) { end(id) }
        guard transactions[id] == nil else { return }
        throw aborted.contains(id) ? .contention : .transactionOver
    }

    /// Whether a commit may now change these documents, given as (before, after).
    mutating func admit(
        _ committer: TransactionID?, changing changes: [(name: DocumentName, before: Document?, after: Document?)],
        at now: Duration
    ) -> Verdict {
        guard !transactions.isEmpty else { return .go }
        var inTheWay = Set<TransactionID>()
        for change in changes { inTheWay.formUnion(holders[change.name] ?? []) }
        for (id, transaction) in transactions where !inTheWay.contains(id) {
            let isTouched = transaction.queries.contains { query in
                changes.contains { ($0.before.map(query.matches) ?? false) || ($0.after.map(query.matches) ?? false) }
            }
            if isTouched { inTheWay.insert(id) }
        }
        if let committer { inTheWay.remove(committer) }
        let age = committer.flatMap { transactions[$0]?.age } ?? .max
        var until: Duration?
        for id in inTheWay {
            guard let other = transactions[id] else { continue }
            if isExpired(other, at: now) {
                end(id)
            } else if other.age < age {
                let expiry = min(other.lastUsed + limits.idle, other.begun + limits.total)
                until = min(until ?? expiry, expiry)
            }
        }
        if let until { return .wait(until: until) }
        for id in inTheWay where transactions[id] != nil { abort(id) }
        return .go
    }

    /// Ends a transaction, open or not. Its locks are free.
    mutating func end(_ id: TransactionID) {
        aborted.removeAll { $0 == id }
        guard let transaction = transactions.removeValue(forKey: id) else { return }
        for name in transaction.documents {
            holders[name]?.remove(id)
            if holders[name]?.isEmpty == true { holders[name] = nil }
        }
    }

    /// Whether a transaction was aborted and has not been told yet.
    func isAborted(_ id: TransactionID) -> Bool { aborted.contains(id) }

    private mutating func abort(_ id: TransactionID) {
        end(id)
        aborted.append(id)
        if aborted.count > 1000 { aborted.removeFirst() }
    }

    private func isExpired(_ transaction: Transaction, at now: Duration) -> Bool {
        now - transaction.lastUsed > limits.idle || now - transaction.begun > limits.total
    }
}

extension DocumentStoreError {
    static let contention = DocumentStoreError(
        .aborted,
        "Aborted due to cross-transaction contention. This occurs when multiple transactions attempt to access the same "
            + "data, requiring Firestore to abort at least one in order to enforce serializability.")
    static let tooManyTransactions = DocumentStoreError(
        .resourceExhausted, "Too many transactions are open. Commit or roll back some, or try again later.")
    static let lockTimeout = DocumentStoreError(.aborted, "Transaction lock timeout.")
    static let transactionOver = DocumentStoreError(
        .invalidArgument, "The referenced transaction has expired or is no longer valid.")
    static let invalidTransaction = DocumentStoreError(.invalidArgument, "Invalid transaction.")
    static let readOnlyTransaction = DocumentStoreError(
        .invalidArgument, "Cannot modify entities in a read-only transaction.")
}

import DocumentModel
import FirestoreProtocol

/// The open transactions, and the documents and queries that each has read and therefore locked.
///
/// A commit may change what a transaction has read only after that transaction has ended. Within an
/// account the older one has priority: an older committer aborts the younger transactions that
/// block it, a younger one waits. Ages are unique and a retry keeps its age, so waiting never forms
/// a cycle, and every transaction eventually is the oldest. A commit never waits for a transaction
/// of another account but aborts it: no account can delay another by reading.
///
/// A pure value: time is passed in with each event.
package struct LockTable {
    package struct Limits: Sendable {
        /// The time without a read after which a transaction ends.
        package var idle: Duration
        /// The total time after which a transaction ends.
        package var total: Duration
        /// The time that a commit waits for locks.
        package var lockWait: Duration
        /// The maximum number of open transactions.
        package var open = 10_000
        /// The maximum size in memory of the reads of all transactions, in bytes.
        package var bytes = 256 << 20
        package var account: AccountLimits

        package init(
            idle: Duration = .seconds(60), total: Duration = .seconds(270), lockWait: Duration = .seconds(15),
            account: AccountLimits = AccountLimits()
        ) {
            self.idle = idle
            self.total = total
            self.lockWait = lockWait
            self.account = account
        }
    }

    /// A query that a transaction has read, whose results must not change.
    struct LockedQuery: Sendable {
        let plan: QueryPlan
        /// The approximate number of bytes that it takes in memory.
        let bytes: Int

        init(_ plan: QueryPlan) {
            self.plan = plan
            bytes = plan.memoryCost
        }
    }

    private struct Transaction {
        let account: String?
        let age: UInt64
        /// The time at which a read-only transaction reads.
        let readTime: Int64?
        let begun: Duration
        var lastUsed: Duration
        /// The key of the transaction in `queries`.
        let serial: UInt64
        var documents: Set<DocumentName> = []
        var queries: [QueryPlan] = []
        var known: Set<Query> = []
        var bytes = 0
        /// Whether the transaction was aborted in favor of another one. It holds no locks, but its
        /// owner has not been notified yet.
        var isAborted = false
    }

    private struct Usage {
        var transactions = Set<TransactionID>()
        var bytes = 0
    }

    /// The decision about a commit.
    package enum Verdict: Equatable {
        /// The commit may proceed. These transactions were aborted for it.
        case go(aborted: Set<TransactionID>)
        /// The commit must wait for older transactions of the same account, the first of which
        /// expires at the given time.
        case wait(until: Duration, for: Set<TransactionID>)
    }

    private let limits: Limits
    private var transactions: [TransactionID: Transaction] = [:]
    private var serials: [UInt64: TransactionID] = [:]
    private var lastSerial: UInt64 = 0
    private var holders: [DocumentName: Set<TransactionID>] = [:]
    private var queries = TargetIndex()
    private var usage: [String?: Usage] = [:]
    private var bytes = 0

    init(limits: Limits) {
        self.limits = limits
    }

    var openCount: Int { transactions.count }

    // MARK: Begin and end

    /// Adds a transaction.
    ///
    /// - Parameter readTime: for a read-only transaction, the time at which it reads.
    /// - Throws: an error if too many transactions of the account, or of all accounts, are open.
    mutating func begin(
        _ id: TransactionID, age: UInt64, readTime: Int64? = nil, at now: Duration
    ) throws(DocumentStoreError) {
        if let account = id.account, count(of: account) >= limits.account.transactions {
            makeRoom(among: usage[account]?.transactions ?? [], at: now)
            guard count(of: account) < limits.account.transactions else {
                throw .limitReached(
                    limits.account.transactions, "open transactions",
                    remedy: "Commit or roll back some, or try again later.")
            }
        }
        if transactions.count >= limits.open { makeRoom(among: transactions.keys, at: now) }
        guard transactions.count < limits.open else { throw .tooManyTransactions }
        lastSerial += 1
        serials[lastSerial] = id
        transactions[id] = Transaction(
            account: id.account, age: age, readTime: readTime, begun: now, lastUsed: now, serial: lastSerial)
        usage[id.account, default: Usage()].transactions.insert(id)
    }

    /// Ends the transactions that have expired, and those that were aborted: these are kept only to
    /// notify their owners.
    private mutating func makeRoom(among ids: some Collection<TransactionID>, at now: Duration) {
        for id in ids.filter({ isOver($0, at: now) || isAborted($0) }) { end(id) }
    }

    private func count(of account: String?) -> Int { usage[account]?.transactions.count ?? 0 }

    /// Ends the transactions that have expired.
    mutating func expire(at now: Duration) {
        for id in transactions.keys.filter({ isOver($0, at: now) }) { end(id) }
    }

    /// Ends a transaction, open or not, and releases its locks.
    mutating func end(_ id: TransactionID) {
        guard let transaction = transactions[id] else { return }
        release(id)
        transactions[id] = nil
        serials[transaction.serial] = nil
        usage[transaction.account]?.transactions.remove(id)
        if usage[transaction.account]?.transactions.isEmpty == true { usage[transaction.account] = nil }
    }

    /// Whether a transaction was aborted and its owner has not been notified yet.
    func isAborted(_ id: TransactionID) -> Bool { transactions[id]?.isAborted ?? false }

    /// Whether a transaction is open.
    func isOpen(_ id: TransactionID) -> Bool { transactions[id]?.isAborted == false }

    private mutating func abort(_ id: TransactionID) {
        release(id)
        transactions[id]?.isAborted = true
    }

    /// Releases the locks of a transaction.
    private mutating func release(_ id: TransactionID) {
        guard let transaction = transactions[id] else { return }
        for name in transaction.documents {
            holders[name]?.remove(id)
            if holders[name]?.isEmpty == true { holders[name] = nil }
        }
        for number in transaction.queries.indices {
            queries.remove(TargetIndex.Key(stream: transaction.serial, target: Int32(clamping: number)))
        }
        usage[transaction.account]?.bytes -= transaction.bytes
        bytes -= transaction.bytes
        transactions[id]?.documents = []
        transactions[id]?.queries = []
        transactions[id]?.known = []
        transactions[id]?.bytes = 0
    }

    private func isOver(_ id: TransactionID, at now: Duration) -> Bool {
        transactions[id].map { isExpired($0, at: now) } ?? true
    }

    private func isExpired(_ transaction: Transaction, at now: Duration) -> Bool {
        now - transaction.lastUsed > limits.idle || now - transaction.begun > limits.total
    }

    // MARK: Use

    /// Throws unless the transaction is open.
    mutating func check(_ id: TransactionID, at now: Duration) throws(DocumentStoreError) {
        guard let transaction = transactions[id] else { throw .transactionOver }
        if transaction.isAborted { throw .contention }
        guard isExpired(transaction, at: now) else { return }
        end(id)
        throw .transactionOver
    }

    /// Returns the time at which a read-only transaction reads. Counts as a use of the transaction.
    mutating func readTime(_ id: TransactionID, at now: Duration) throws(DocumentStoreError) -> Int64 {
        try check(id, at: now)
        guard let time = transactions[id]?.readTime else { throw .transactionOver }
        transactions[id]?.lastUsed = now
        return time
    }

    /// Locks what the transaction is about to read.
    ///
    /// - Throws: an error if it would exceed a limit. The transaction's locks are then unchanged.
    mutating func lock(_ id: TransactionID, documents: [DocumentName], queries: [LockedQuery], at now: Duration)
        throws(DocumentStoreError)
    {
        try check(id, at: now)
        // Removed from the table meanwhile, because a second reference would cause its sets to be
        // copied.
        guard var transaction = transactions.removeValue(forKey: id) else { throw .transactionOver }
        defer { transactions[id] = transaction }
        transaction.lastUsed = now
        let names = Set(documents.filter { !transaction.documents.contains($0) })
        var plans: [LockedQuery] = []
        for query in queries where !transaction.known.contains(query.plan.query) { plans.append(query) }
        let cost = names.reduce(0) { $0 + $1.path.utf8.count + 300 } + plans.reduce(0) { $0 + $1.bytes }
        try checkLimits(in: transaction, for: names.count, plans.count, bytes: cost)
        transaction.documents.formUnion(names)
        transaction.bytes += cost
        usage[transaction.account]?.bytes += cost
        bytes += cost
        for name in names { holders[name, default: []].insert(id) }
        for query in plans {
            let number = Int32(clamping: transaction.queries.count)
            transaction.known.insert(query.plan.query)
            transaction.queries.append(query.plan)
            self.queries.insert(TargetIndex.Key(stream: transaction.serial, target: number), plan: query.plan)
        }
    }

    private func checkLimits(
        in transaction: Transaction, for documents: Int, _ queries: Int, bytes more: Int
    ) throws(DocumentStoreError) {
        guard let account = transaction.account else { return }
        let limits = limits.account
        guard transaction.documents.count + documents <= limits.transactionDocuments else {
            throw .limitReached(
                limits.transactionDocuments, "documents read in a transaction", remedy: "Read fewer in each.")
        }
        guard transaction.queries.count + queries <= limits.transactionQueries else {
            throw .limitReached(limits.transactionQueries, "queries in a transaction", remedy: "Run fewer in each.")
        }
        guard (usage[account]?.bytes ?? 0) + more <= limits.transactionBytes else {
            throw .limitReached(
                limits.transactionBytes, "bytes of reads in open transactions",
                remedy: "Commit or roll back some, or try again later.")
        }
        guard bytes + more <= self.limits.bytes else { throw .tooManyTransactions }
    }

    /// Returns the transactions that have read what is changed.
    private func readers(
        of changes: [(name: DocumentName, before: Document?, after: Document?)]
    ) -> Set<TransactionID> {
        guard !holders.isEmpty || queries.count > 0 else { return [] }
        var readers = Set<TransactionID>()
        for change in changes {
            readers.formUnion(holders[change.name] ?? [])
            for key in queries.candidates(for: change.name, before: change.before, after: change.after) {
                guard let id = serials[key.stream], !readers.contains(id),
                    let plans = transactions[id]?.queries, plans.indices.contains(Int(key.target))
                else { continue }
                let plan = plans[Int(key.target)]
                let isTouched = [change.before, change.after].contains { $0.map(plan.matches) ?? false }
                if isTouched { readers.insert(id) }
            }
        }
        return readers
    }

    /// Aborts the transactions that have read what another server has changed. Returns them.
    mutating func abort(
        changed changes: [(name: DocumentName, before: Document?, after: Document?)]
    ) -> Set<TransactionID> {
        let readers = readers(of: changes)
        for id in readers { abort(id) }
        return readers
    }

    /// Decides whether a commit may change these documents now.
    ///
    /// - Parameter account: the committer's account.
    mutating func admit(
        _ committer: TransactionID?, of account: String?,
        changing changes: [(name: DocumentName, before: Document?, after: Document?)], at now: Duration
    ) -> Verdict {
        var inTheWay = readers(of: changes)
        guard !inTheWay.isEmpty else { return .go(aborted: []) }
        if let committer { inTheWay.remove(committer) }
        let age = committer.flatMap { transactions[$0]?.age } ?? .max
        var until: Duration?
        var awaited = Set<TransactionID>()
        for id in inTheWay {
            guard let other = transactions[id] else { continue }
            if isExpired(other, at: now) {
                end(id)
            } else if other.account == account, other.age < age {
                let expiry = min(other.lastUsed + limits.idle, other.begun + limits.total)
                until = min(until ?? expiry, expiry)
                awaited.insert(id)
            }
        }
        if let until { return .wait(until: until, for: awaited) }
        inTheWay.formIntersection(transactions.keys)
        for id in inTheWay { abort(id) }
        return .go(aborted: inTheWay)
    }
}

extension QueryPlan {
    /// The approximate number of bytes that a plan takes in memory: its values and its
    /// disjunctions, of which even a short filter may have many.
    var memoryCost: Int {
        let conditions = disjunctions.reduce(0) { $0 + $1.count } + orders.count
        return RunQueryRequest(query: query).encoded().count + 128 * conditions + 1000
    }
}

extension DocumentStoreError {
    static let contention = DocumentStoreError(
        .aborted,
        "Aborted due to cross-transaction contention. This occurs when multiple transactions attempt to access the same "
            + "data, requiring Firestore to abort at least one in order to enforce serializability.")
    static let tooManyTransactions = DocumentStoreError(
        .resourceExhausted, "Too many transactions are open on this server. Try again later.")
    static func tooManyWaitingCommits(_ limit: Int) -> DocumentStoreError {
        .limitReached(
            limit, "commits that wait for transactions", remedy: "Commit or roll back the transactions first.")
    }

    static let lockTimeout = DocumentStoreError(.aborted, "Transaction lock timeout.")
    static let transactionOver = DocumentStoreError(
        .invalidArgument, "The referenced transaction has expired or is no longer valid.")
    static let invalidTransaction = DocumentStoreError(.invalidArgument, "Invalid transaction.")
    static let readOnlyTransaction = DocumentStoreError(
        .invalidArgument, "Cannot modify entities in a read-only transaction.")
}

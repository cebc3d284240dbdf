import DocumentModel
import Synchronization

/// The open transactions of a database, shared by its readers, who lock, and its writer, who honours the locks.
final class TransactionRegistry: Sendable {
    private struct State {
        var locks: LockTable
        var readOnly: [TransactionID: (readTime: Int64, lastUsed: Duration)] = [:]
        var lastAge: UInt64 = 0
        /// At so many read-only transactions the forgotten ones are looked for.
        var sweepCount = 1000
    }

    let limits: LockTable.Limits
    private let state: Mutex<State>
    private let start = ContinuousClock.now

    init(limits: LockTable.Limits) {
        self.limits = limits
        state = Mutex(State(locks: LockTable(limits: limits)))
    }

    /// Time as transactions count it.
    func now() -> Duration { ContinuousClock.now - start }

    // MARK: Begin and end

    /// - Parameter wallTime: makes the ages of transactions grow over restarts.
    func beginReadWrite(retry: TransactionID?, wallTime: Int64) throws(DocumentStoreError) -> TransactionID {
        let now = now()
        return try state.withLock { state throws(DocumentStoreError) in
            state.lastAge = max(UInt64(clamping: wallTime), state.lastAge + 1)
            let age = retry.flatMap { $0.kind == .readWrite ? $0.number : nil } ?? state.lastAge
            let id = TransactionID(.readWrite, number: age)
            try state.locks.begin(id, age: age, at: now)
            return id
        }
    }

    func beginReadOnly(at time: Int64) throws(DocumentStoreError) -> TransactionID {
        let id = TransactionID(.readOnly, number: UInt64(bitPattern: time))
        let now = now()
        try state.withLock { state throws(DocumentStoreError) in
            // Read-only transactions hold nothing; forgotten ones are swept out by later ones.
            if state.readOnly.count >= min(state.sweepCount, limits.open) {
                state.readOnly = state.readOnly.filter { now - $0.value.lastUsed <= limits.idle }
                state.sweepCount = max(1000, 2 * state.readOnly.count)
            }
            guard state.readOnly.count < limits.open else { throw .tooManyTransactions }
            state.readOnly[id] = (time, now)
        }
        return id
    }

    /// Ends a transaction; false if it was not open.
    @discardableResult func end(_ id: TransactionID) -> Bool {
        state.withLock { state in
            if state.readOnly.removeValue(forKey: id) != nil { return true }
            let before = state.locks.openCount
            state.locks.end(id)
            return state.locks.openCount < before
        }
    }

    /// Ends a transaction by its owner's wish.
    func rollBack(_ id: TransactionID) throws(DocumentStoreError) {
        guard id.kind != nil else { throw .invalidTransaction }
        let isKnown = state.withLock { $0.locks.isAborted(id) }
        guard end(id) || isKnown else { throw DocumentStoreError(.aborted, DocumentStoreError.transactionOver.message) }
    }

    // MARK: Use

    func checkOpen(_ id: TransactionID) throws(DocumentStoreError) {
        let now = now()
        switch id.kind {
        case nil: throw .invalidTransaction
        case .readOnly: _ = try readTime(id)
        case .readWrite: try state.withLock { state throws(DocumentStoreError) in try state.locks.check(id, at: now) }
        }
    }

    /// The moment that a read-only transaction reads.
    func readTime(_ id: TransactionID) throws(DocumentStoreError) -> Int64 {
        let now = now()
        return try state.withLock { state throws(DocumentStoreError) in
            guard let open = state.readOnly[id] else { throw .transactionOver }
            guard now - open.lastUsed <= limits.idle else {
                state.readOnly[id] = nil
                throw .transactionOver
            }
            state.readOnly[id]?.lastUsed = now
            return open.readTime
        }
    }

    func lock(_ id: TransactionID, documents: [DocumentName] = [], queries: [LockTable.LockedQuery] = [])
        throws(DocumentStoreError)
    {
        let now = now()
        try state.withLock { state throws(DocumentStoreError) in
            try state.locks.lock(id, documents: documents, queries: queries, at: now)
        }
    }

    func admit(
        _ committer: TransactionID?, changing changes: [(name: DocumentName, before: Document?, after: Document?)]
    ) -> LockTable.Verdict {
        let now = now()
        return state.withLock { $0.locks.admit(committer, changing: changes, at: now) }
    }
}

import Cryptography
package import DocumentModel
import Synchronization
package import SystemIO

/// The open transactions of a database, shared by its readers, which acquire locks, and its writer,
/// which respects them.
///
/// Every method first checks that the id was created here for the account that uses it, and throws
/// `.invalidTransaction` otherwise.
package final class TransactionRegistry: Sendable {
    private struct State {
        var locks: LockTable
        var lastAge: UInt64 = 0
    }

    package let limits: LockTable.Limits
    private let state: Mutex<State>
    private let environment: Environment
    /// The key that authenticates ids for the lifetime of the process. Transactions live no longer.
    private let key = RandomBytes.make(32)

    package init(limits: LockTable.Limits, environment: Environment) {
        self.limits = limits
        self.environment = environment
        state = Mutex(State(locks: LockTable(limits: limits)))
    }

    /// Returns the time used for transactions.
    package func now() -> Duration { environment.now() }

    /// Returns the kind of a transaction, open or not.
    func kind(of id: TransactionID) throws(DocumentStoreError) -> TransactionID.Kind {
        guard let kind = id.kind, id.isAuthentic(key) else { throw .invalidTransaction }
        return kind
    }

    // MARK: Begin and end

    /// Begins a read-write transaction.
    ///
    /// - Parameters:
    ///   - retry: an earlier attempt, whose age is inherited if it is an id of the account.
    ///   - wallTime: makes the ages of transactions increase across restarts.
    func beginReadWrite(
        for account: String?, retry: TransactionID?, wallTime: Int64
    ) throws(DocumentStoreError) -> TransactionID {
        let now = now()
        let retry = retry.flatMap { id in
            id.account == account && id.kind == .readWrite && id.isAuthentic(key) ? id : nil
        }
        return try state.withLock { state throws(DocumentStoreError) in
            state.lastAge = max(UInt64(clamping: wallTime), state.lastAge + 1)
            let age = retry?.number ?? state.lastAge
            let id = TransactionID(.readWrite, number: age, nonce: environment.random(), account: account, key: key)
            try state.locks.begin(id, age: age, at: now)
            return id
        }
    }

    func beginReadOnly(for account: String?, at time: Int64) throws(DocumentStoreError) -> TransactionID {
        let id = TransactionID(
            .readOnly, number: UInt64(bitPattern: time), nonce: environment.random(), account: account, key: key)
        let now = now()
        try state.withLock { state throws(DocumentStoreError) in
            // Read-only transactions hold no locks, so their age does not matter.
            try state.locks.begin(id, age: .max, readTime: time, at: now)
        }
        return id
    }

    /// Ends a transaction. Returns false if it was not open.
    @discardableResult package func end(_ id: TransactionID) -> Bool {
        state.withLock { state in
            let wasOpen = state.locks.isOpen(id)
            state.locks.end(id)
            return wasOpen
        }
    }

    /// Ends a transaction at its owner's request.
    func rollBack(_ id: TransactionID) throws(DocumentStoreError) {
        _ = try kind(of: id)
        let isKnown = state.withLock { $0.locks.isAborted(id) }
        guard end(id) || isKnown else { throw DocumentStoreError(.aborted, DocumentStoreError.transactionOver.message) }
    }

    /// Ends the expired transactions, so that they use no memory.
    package func expire() {
        let now = now()
        state.withLock { $0.locks.expire(at: now) }
    }

    // MARK: Use

    package func checkOpen(_ id: TransactionID) throws(DocumentStoreError) {
        let now = now()
        _ = try kind(of: id)
        try state.withLock { state throws(DocumentStoreError) in try state.locks.check(id, at: now) }
    }

    /// Returns the time at which a read-only transaction reads.
    func readTime(_ id: TransactionID) throws(DocumentStoreError) -> Int64 {
        let now = now()
        _ = try kind(of: id)
        return try state.withLock { state throws(DocumentStoreError) in try state.locks.readTime(id, at: now) }
    }

    func lock(_ id: TransactionID, documents: [DocumentName] = [], queries: [LockTable.LockedQuery] = [])
        throws(DocumentStoreError)
    {
        let now = now()
        _ = try kind(of: id)
        try state.withLock { state throws(DocumentStoreError) in
            try state.locks.lock(id, documents: documents, queries: queries, at: now)
        }
    }

    package func admit(
        _ committer: TransactionID?, of account: String?,
        changing changes: [(name: DocumentName, before: Document?, after: Document?)]
    ) -> LockTable.Verdict {
        let now = now()
        return state.withLock { $0.locks.admit(committer, of: account, changing: changes, at: now) }
    }

    /// Aborts the transactions that have read what another server has changed. Returns them.
    package func abort(
        changed changes: [(name: DocumentName, before: Document?, after: Document?)]
    ) -> Set<TransactionID> {
        state.withLock { $0.locks.abort(changed: changes) }
    }
}

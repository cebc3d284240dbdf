package import DocumentModel

/// On whose behalf a commit is made, and what decides whether it may be stored.
package struct CommitGuard: Sendable {
    /// The account that limits are counted for; `nil` for an administrator, who has none.
    package let account: String?
    /// Looks at a commit before it is stored; by throwing a `DocumentStoreError` it refuses it whole.
    ///
    /// Runs on the store's writer, so it holds up every other commit: it must be quick and must not wait.
    package let check: @Sendable (borrowing ProposedCommit) throws -> Void

    package init(account: String?, check: @escaping @Sendable (borrowing ProposedCommit) throws -> Void = { _ in }) {
        self.account = account
        self.check = check
    }
}

/// A commit that would be stored: what each write found and what it would leave.
package struct ProposedCommit: ~Copyable {
    /// One a write, in order. A later write of the same document finds what the earlier one left.
    package let changes: [ProposedChange]
    /// The commit's time, also the value of its server timestamps.
    package let time: Timestamp
    private let stored: (DocumentName) throws -> Document?
    private let count: (String) throws -> Int64

    init(
        changes: [ProposedChange], time: Timestamp, stored: @escaping (DocumentName) throws -> Document?,
        count: @escaping (String) throws -> Int64
    ) {
        self.changes = changes
        self.time = time
        self.stored = stored
        self.count = count
    }

    /// How many documents a user owns before this commit; see `DocumentOwner`.
    package func documentCount(of owner: String) throws -> Int64 { try count(owner) }

    /// A document as it is before this commit.
    package func get(_ name: DocumentName) throws -> Document? { try stored(name) }

    /// A document as it would be after this commit.
    package func getAfter(_ name: DocumentName) throws -> Document? {
        for change in changes.reversed() where change.write.name == name { return change.after }
        return try stored(name)
    }
}

/// One write of a proposed commit.
package struct ProposedChange: Sendable {
    package let write: Write
    package let before: Document?
    package let after: Document?
}

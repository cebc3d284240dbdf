package import DocumentModel

/// The account on whose behalf a commit is made, and the check that decides whether it may be
/// stored.
package struct CommitGuard: Sendable {
    /// The account that limits apply to; nil for an administrator, who has none.
    package let account: String?
    /// Checks a commit before it is stored, and refuses it by throwing a `DocumentStoreError`.
    ///
    /// Runs on the store's writer and delays every other commit, so it must be fast and must not
    /// wait.
    package let check: @Sendable (borrowing ProposedCommit) throws -> Void

    package init(account: String?, check: @escaping @Sendable (borrowing ProposedCommit) throws -> Void = { _ in }) {
        self.account = account
        self.check = check
    }
}

/// A commit that is about to be stored, with the document before and after each write.
package struct ProposedCommit: ~Copyable {
    /// One change per write, in order. A later write of the same document sees the result of the
    /// earlier one.
    package let changes: [ProposedChange]
    /// The commit's time, which is also the value of its server timestamps.
    package let time: Timestamp
    private let stored: (DocumentName) throws -> Document?
    private let count: (String) throws -> Int64
    /// The stored document that was read last. Rules ask for a task once for each entry of its
    /// history that a commit writes, and a task may be large.
    private let latest = Latest()

    private final class Latest {
        var document: (name: DocumentName, found: Document?)?
    }

    package init(
        changes: [ProposedChange], time: Timestamp, stored: @escaping (DocumentName) throws -> Document?,
        count: @escaping (String) throws -> Int64
    ) {
        self.changes = changes
        self.time = time
        self.stored = stored
        self.count = count
    }

    /// Returns the number of documents that a user owns before this commit; see `DocumentOwner`.
    package func documentCount(of owner: String) throws -> Int64 { try count(owner) }

    /// Returns a document as it is before this commit.
    package func get(_ name: DocumentName) throws -> Document? {
        if let latest = latest.document, latest.name == name { return latest.found }
        let found = try stored(name)
        latest.document = (name, found)
        return found
    }

    /// Returns a document as it would be after this commit.
    package func getAfter(_ name: DocumentName) throws -> Document? {
        for change in changes.reversed() where change.write.name == name { return change.after }
        return try get(name)
    }
}

/// One write of a proposed commit.
package struct ProposedChange: Sendable {
    package let write: Write
    package let before: Document?
    package let after: Document?
}

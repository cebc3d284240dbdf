package import DocumentModel

/// The user whose quota a document counts toward: the user named by its field `userId`, or else the
/// user named by the document at the top of its tree.
package enum DocumentOwner {
    package static let field = "userId"

    /// Returns the user that the fields name.
    package static func named(by fields: [String: Value]?) -> String? {
        guard case .string(let owner)? = fields?[field], !owner.isEmpty else { return nil }
        return owner
    }
}

extension DocumentOwner {
    /// The effect of a commit on what users own.
    package struct Transfer {
        /// The user who owned the document, and the one who owns it now.
        package let from: String?
        package let to: String?
        /// The owner that the document had, and has now, only by the document above it.
        package let wasInherited: String?
        package let isInherited: String?
    }

    /// Returns the effect of a commit on one document's owner; nil if the owner is the same.
    ///
    /// - Parameters:
    ///   - inherited: returns the owner that the document had by the document above it.
    ///   - fields: returns the fields of a document after the commit.
    package static func transfer(
        _ effect: CommitEffects.Effect, inherited: () throws -> String?,
        fields: (DocumentName) throws -> [String: Value]?
    ) throws -> Transfer? {
        let (before, after) = (effect.before, effect.after)
        let named = (named(by: before?.fields), named(by: after?.fields))
        if before != nil, after != nil, named.0 == named.1 { return nil }
        let top = effect.name.root
        let was = before != nil && named.0 == nil && top != nil ? try inherited() : nil
        var heir: String?
        if after != nil, named.1 == nil, let top { heir = try was ?? self.named(by: fields(top)) }
        return Transfer(
            from: before == nil ? nil : named.0 ?? was, to: after == nil ? nil : named.1 ?? heir, wasInherited: was,
            isInherited: heir)
    }
}

extension ProposedCommit {
    /// A user who would own more documents than before.
    package struct Growth: Sendable, Hashable {
        package let owner: String
        /// The number of documents that the user owns before the commit.
        package let count: Int64
        package let added: Int64

        package init(owner: String, count: Int64, added: Int64) {
            self.owner = owner
            self.count = count
            self.added = added
        }
    }

    /// Returns the users who would own more documents after the commit.
    package func growth() throws -> [Growth] {
        var added: [String: Int64] = [:]
        for change in changes {
            let (before, after) = (change.before, change.after)
            let owners = (DocumentOwner.named(by: before?.fields), DocumentOwner.named(by: after?.fields))
            // An update that keeps the owner, as in most commits.
            if (before == nil) == (after == nil), owners.0 == owners.1 { continue }
            if before != nil, let owner = try owners.0 ?? inherited(by: change.write.name) {
                added[owner, default: 0] -= 1
            }
            if after != nil, let owner = try owners.1 ?? inherited(by: change.write.name) {
                added[owner, default: 0] += 1
            }
        }
        return try added.filter { $0.value > 0 }.map {
            Growth(owner: $0.key, count: try documentCount(of: $0.key), added: $0.value)
        }
    }

    private func inherited(by name: DocumentName) throws -> String? {
        guard let top = name.root else { return nil }
        return DocumentOwner.named(by: try (getAfter(top) ?? get(top))?.fields)
    }
}

package import DocumentModel
import FirestoreProtocol
import SQLite

extension CommitEffects {
    /// The maximum number of documents that one commit may change below a document that it names.
    static let maximumInheritors = 10_000

    /// Updates inherited fields in the documents below changed top-level documents.
    ///
    /// A document below that has an inherited field gets the value of the top-level document, or
    /// loses the field if the top-level document lacks it. A query for such a field therefore finds
    /// documents by the current value of the document above. If the top-level document is deleted,
    /// the documents below it stay as they are.
    ///
    /// - Parameter below: returns the stored documents below a name, at most as many as the given
    ///   limit.
    /// - Throws: `.invalidArgument` if there are more than `maximumInheritors` documents below one
    ///   document.
    package mutating func inherit(
        _ fields: Set<String>, at time: Timestamp,
        below: (_ root: DocumentName, _ limit: Int) throws -> [Document]
    ) throws {
        for root in effects where root.changed && root.name.parent == nil {
            guard let document = root.after else { continue }
            let changed = fields.filter { root.before?.fields[$0] != document.fields[$0] }
            guard !changed.isEmpty else { continue }
            try inherit(changed, from: document, at: time, below: below)
        }
    }

    private mutating func inherit(
        _ fields: Set<String>, from root: Document, at time: Timestamp,
        below: (_ root: DocumentName, _ limit: Int) throws -> [Document]
    ) throws {
        var named = Set<DocumentName>()
        let parent = ParentName(root.name)
        for index in effects.indices where parent.isAncestor(of: effects[index].name) {
            named.insert(effects[index].name)
            guard let after = effects[index].after, let aligned = after.inheriting(fields, from: root) else { continue }
            effects[index].after = aligned
            effects[index].after?.updateTime = time
            effects[index].changed = true
        }
        let stored = try below(root.name, Self.maximumInheritors + 1)
        guard stored.count <= Self.maximumInheritors else {
            // Not FAILED_PRECONDITION, after which a client would retry: it should give up and
            // report the error.
            throw DocumentStoreError(
                .invalidArgument,
                "More than \(Self.maximumInheritors) documents below \(root.name.path) would change with it. Delete some."
            )
        }
        for before in stored where !named.contains(before.name) {
            guard var after = before.inheriting(fields, from: root) else { continue }
            after.updateTime = time
            effects.append(Effect(name: before.name, before: before, after: after, changed: true))
        }
    }
}

extension Document {
    /// Returns the document with the inherited fields that it has set to the root's values; nil if
    /// they are equal already.
    func inheriting(_ inherited: Set<String>, from root: Document) -> Document? {
        let stale = inherited.filter { fields[$0] != nil && fields[$0] != root.fields[$0] }
        guard !stale.isEmpty else { return nil }
        var document = self
        for field in stale { document.fields[field] = root.fields[field] }
        return document
    }
}

extension DocumentTables {
    /// Returns the documents below a document at any depth, at most `limit`.
    func documents(below root: DocumentName, limit: Int) throws -> [Document] {
        let prefix = KeyBytes.path(root.path)
        guard let end = KeyBytes.successor(ofPrefix: prefix) else { return [] }
        var collections: [Int64] = []
        try sqlite.withStatement("SELECT collection FROM collection WHERE path>=? AND path<?") { statement in
            try statement.bind(1, prefix)
            try statement.bind(2, end)
            while try statement.step() { collections.append(statement.int64(0)) }
        }
        var names: [DocumentName] = []
        for collection in collections where names.count < limit {
            var ids: [[UInt8]] = []
            try sqlite.query(
                "SELECT id FROM document WHERE collection=? LIMIT ?", [.integer(collection), .int(limit - names.count)]
            ) { ids.append($0.bytes(0)) }
            names += try ids.map { try name(collection: collection, id: $0) }
        }
        return try names.compactMap { try document($0).map(Document.init) }
    }
}

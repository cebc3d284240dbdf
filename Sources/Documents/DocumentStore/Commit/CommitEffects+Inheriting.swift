import DocumentModel
import FirestoreProtocol
import SQLite

extension CommitEffects {
    /// How many documents below those that it names a commit may change.
    static let maximumInheritors = 10_000

    /// Brings documents below changed top-level documents into line with these: where a document below has an inherited field, it
    /// has the top-level document's value, or loses it with that document. So a query that finds documents by such a field
    /// finds them by what the document above says now. A deleted document leaves what is below it as it is.
    ///
    /// - Parameter below: the stored documents below a name, no more than the limit that it is given.
    /// - Throws: where there are more than `maximumInheritors` documents below one.
    mutating func inherit(
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
            // No precondition that another attempt could meet: clients give up and show it.
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
    /// The document with the root's values in those of the fields that it has; nil where it has them already.
    func inheriting(_ inherited: Set<String>, from root: Document) -> Document? {
        let stale = inherited.filter { fields[$0] != nil && fields[$0] != root.fields[$0] }
        guard !stale.isEmpty else { return nil }
        var document = self
        for field in stale { document.fields[field] = root.fields[field] }
        return document
    }
}

extension DocumentTables {
    /// The documents below a document, at any depth; at most `limit`.
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

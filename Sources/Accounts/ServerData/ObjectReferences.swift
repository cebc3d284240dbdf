package import ObjectStorage
package import PostgresStore
import SQLite

/// The manifests, and the chunks of single-chunk files, to which documents refer: tasks, including
/// those in the trash, their history, and versions that are kept for reads in the past.
///
/// The bytes of all documents of all databases are searched, whatever the names of their fields. A
/// text that only looks like a reference keeps an object longer than needed, but a reference that
/// is overlooked would lose one.
package struct ObjectReferences {
    package private(set) var manifests: Set<ContentHash> = []
    package private(set) var chunks: Set<ContentHash> = []
    /// The references of the current documents. If an object of the other references is missing, a
    /// read in the past fails, which is not damage: the objects of a deleted account are removed
    /// before the log of its documents.
    package private(set) var present: (manifests: Set<ContentHash>, chunks: Set<ContentHash>) = ([], [])
    /// The users among `users` that any document mentions.
    package private(set) var usersWithDocuments: Set<String> = []

    static let manifestMark = Array("/manifests/".utf8)
    static let chunkMark = Array("/chunks/".utf8)

    /// Collects the references.
    ///
    /// - Parameter users: The users who have objects.
    package init(in layout: DataLayout, of users: Set<String>) throws {
        for name in try layout.databases() where name.hasPrefix("documents/") {
            let database = try SQLiteDatabase(path: "\(layout.path)/\(name)")
            defer { database.close() }
            for table in ["document", "change"] {
                let sql = "SELECT fields FROM \(table) WHERE instr(fields, ?1) OR instr(fields, ?2)"
                try database.query(sql, [.blob(Self.manifestMark), .blob(Self.chunkMark)]) { row in
                    add(row.bytes(0), isPresent: table == "document")
                }
            }
            for user in users.subtracting(usersWithDocuments) {
                let sql = "SELECT 1 FROM document WHERE instr(fields, ?) LIMIT 1"
                if try database.first(sql, [.blob(Array(user.utf8))], { _ in true }) == true {
                    usersWithDocuments.insert(user)
                }
            }
        }
    }

    /// Collects the references of the documents in PostgreSQL.
    package init(in documents: PostgresDocuments, of users: Set<String>) throws {
        try documents.forEachVersion(containing: Self.manifestMark, or: Self.chunkMark) { add($0, isPresent: $1) }
        for user in users where try documents.contain(Array(user.utf8)) { usersWithDocuments.insert(user) }
    }

    private mutating func add(_ fields: [UInt8], isPresent: Bool) {
        let namedManifests = Self.hashes(behind: Self.manifestMark, in: fields)
        let namedChunks = Self.hashes(behind: Self.chunkMark, in: fields)
        manifests.formUnion(namedManifests)
        chunks.formUnion(namedChunks)
        guard isPresent else { return }
        present.manifests.formUnion(namedManifests)
        present.chunks.formUnion(namedChunks)
    }

    /// Returns the hashes of every `<mark><2 hex>/<64 hex>`.
    static func hashes(behind mark: [UInt8], in bytes: [UInt8]) -> [ContentHash] {
        var hashes: [ContentHash] = []
        var rest = bytes[...]
        while let found = rest.firstRange(of: mark) {
            rest = rest[found.upperBound...]
            let digits = rest.dropFirst(3).prefix(64)
            if let hash = ContentHash(hex: String(decoding: digits, as: UTF8.self)) { hashes.append(hash) }
        }
        return hashes
    }
}

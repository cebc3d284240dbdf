import DocumentModel
import SQLite

/// Finds the names below a name as of a time: collections with documents, and documents that exist
/// only as parents of others.
struct SubcollectionReader {
    let tables: DocumentTables
    let time: Int64

    /// Returns the ids of the collections directly below a document (or the root, "") that contain
    /// documents, in ascending order.
    func collectionIDs(below path: String, after last: String?, limit: Int) throws -> [String] {
        try segments(below: KeyBytes.path(path), after: last, limit: limit) { _ in true }
    }

    /// Returns the documents of a collection that do not exist but have documents below them, in
    /// ascending order.
    func missingDocuments(in collection: String, after last: String?, limit: Int) throws -> [DocumentName] {
        let number = try tables.collection(collection)
        let ids = try segments(below: KeyBytes.path(collection), after: last, limit: limit) { id in
            guard let number else { return true }
            let name = try DocumentName(database: tables.name, path: "\(collection)/\(id)")
            return try tables.document(name, collection: number, id: Array(id.utf8), at: time) == nil
        }
        return try ids.map { try DocumentName(database: tables.name, path: "\(collection)/\($0)") }
    }

    /// Returns the distinct segments that follow `prefix` in the keys of collections that contain
    /// documents at `time`.
    private func segments(
        below prefix: [UInt8], after last: String?, limit: Int, where isWanted: (String) throws -> Bool
    ) throws -> [String] {
        guard let end = KeyBytes.successor(ofPrefix: prefix) ?? (prefix.isEmpty ? [0xFF] : nil) else { return [] }
        var lower = prefix
        if let last {
            KeyBytes.append(segment: last, to: &lower)
            lower = KeyBytes.successor(ofPrefix: lower) ?? end
        }
        var found: [String] = []
        while found.count < limit, let key = try firstCollection(from: lower, below: end) {
            guard key.count > prefix.count, let stop = key[prefix.count...].firstIndex(of: 0) else {
                // The collection `prefix` itself, if it is one.
                lower = key + [0]
                continue
            }
            let segmentKey = Array(key[...stop])
            let next = KeyBytes.successor(ofPrefix: segmentKey) ?? end
            let text = key[prefix.count..<stop].withUnsafeBytes { KeyBytes.decodePath($0) }
            if let text, try isWanted(text), try holdsDocuments(from: segmentKey, below: next) { found.append(text) }
            lower = next
        }
        return found
    }

    private func firstCollection(from lower: [UInt8], below upper: [UInt8]) throws -> [UInt8]? {
        try tables.sqlite.first(
            "SELECT path FROM collection WHERE path>=? AND path<? ORDER BY path LIMIT 1", [.blob(lower), .blob(upper)]
        ) { $0.bytes(0) }
    }

    private func holdsDocuments(from lower: [UInt8], below upper: [UInt8]) throws -> Bool {
        var holds = false
        try tables.sqlite.query(
            "SELECT collection FROM collection WHERE path>=? AND path<? ORDER BY path", [.blob(lower), .blob(upper)]
        ) { row in
            guard !holds else { return }
            holds = try holdsDocuments(row.int64(0))
        }
        return holds
    }

    private func holdsDocuments(_ collection: Int64) throws -> Bool {
        let holdsNow = try tables.sqlite.first(
            "SELECT 1 FROM document WHERE collection=? AND create_time<=? LIMIT 1",
            [.integer(collection), .integer(time)]
        ) { _ in true }
        if holdsNow ?? false { return true }
        let heldThen = try tables.sqlite.first(
            """
            SELECT 1 FROM change
            WHERE time>?1 AND collection=?2 AND update_time IS NOT NULL AND update_time<=?1 LIMIT 1
            """, [.integer(time), .integer(collection)]
        ) { _ in true }
        return heldThen ?? false
    }
}

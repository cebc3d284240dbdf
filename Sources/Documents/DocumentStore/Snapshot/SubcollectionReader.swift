import DocumentModel

/// Finds the names below a name as of a time: collections with documents, and documents that exist
/// only as parents of others.
struct SubcollectionReader {
    let snapshot: any StoreSnapshot
    let time: Int64

    /// Returns the ids of the collections directly below a document (or the root, "") that contain
    /// documents, in ascending order.
    func collectionIDs(below path: String, after last: String?, limit: Int) throws -> [String] {
        try segments(below: KeyBytes.path(path), after: last, limit: limit) { _ in true }
    }

    /// Returns the documents of a collection that do not exist but have documents below them, in
    /// ascending order.
    func missingDocuments(in collection: String, after last: String?, limit: Int) throws -> [DocumentName] {
        let number = try snapshot.collection(collection)
        let ids = try segments(below: KeyBytes.path(collection), after: last, limit: limit) { id in
            guard let number else { return true }
            let name = try DocumentName(database: snapshot.name, path: "\(collection)/\(id)")
            return try snapshot.document(name, collection: number, id: Array(id.utf8), at: time) == nil
        }
        return try ids.map { try DocumentName(database: snapshot.name, path: "\(collection)/\($0)") }
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
        while found.count < limit, let key = try snapshot.firstCollection(from: lower, below: end) {
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

    private func holdsDocuments(from lower: [UInt8], below upper: [UInt8]) throws -> Bool {
        for collection in try snapshot.collections(from: lower, below: upper, named: nil) {
            if try snapshot.holdsDocuments(collection, at: time) { return true }
        }
        return false
    }
}

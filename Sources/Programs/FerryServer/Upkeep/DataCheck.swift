import Cryptography
import DocumentModel
import DocumentStore
import SQLite
import SystemIO

/// Looks for damage in a data directory or a backup, whether or not a server runs on it: in each database's file, and
/// in what documents, their indexes and their log say of one another.
struct DataCheck {
    let layout: DataLayout
    /// Reads every object and compares it with its checksum or entity tag, not just its size.
    let readsObjects: Bool

    /// What is wrong, one line each; empty when all is sound.
    func problems() throws -> [String] {
        var problems: [String] = []
        let databases = try layout.databases()
        for name in databases {
            do {
                problems += try Self.problems(
                    ofDatabase: "\(layout.path)/\(name)", isOfDocuments: layout.isOfDocuments(name)
                )
                .map { "\(name): \($0)" }
            } catch {
                problems.append("\(name): \(error)")
            }
        }
        if !databases.contains(DataLayout.accounts) { problems.append("\(DataLayout.accounts) is missing") }
        if databases.contains(DataLayout.index), problems.isEmpty {
            var found: [(file: String, problem: String)] = []
            try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)") { file, size, etag, headers in
                if let problem = problem(of: file, size: size, etag: etag, headers) { found.append((file, problem)) }
            }
            problems += try present(found)
        }
        return problems
    }

    /// Those of files that records still refer to: a running server gives back, or moves, what was looked up before.
    func present(_ found: [(file: String, problem: String)]) throws -> [String] {
        guard !found.isEmpty else { return [] }
        var gone = Set(found.map(\.file))
        try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)") { file, _, _, _ in gone.remove(file) }
        return found.filter { !gone.contains($0.file) }.map(\.problem)
    }

    private static func problems(ofDatabase path: String, isOfDocuments: Bool) throws -> [String] {
        // The file does not say which database it is, and the check does not ask.
        if isOfDocuments { return try SQLiteDocumentStore.check(DatabaseName(project: "any"), path: path) }
        let database = try SQLiteDatabase(path: path)
        defer { database.close() }
        return try database.quickCheck()
    }

    private func problem(of file: String, size: Int64, etag: String, _ headers: [String: String]) -> String? {
        guard let place = ObjectPlace(file) else { return "\(DataLayout.index) refers to \(file), which is no place" }
        let name = "objects/\(place)"
        do {
            let object = try StoredObject(place, in: layout.objects)
            guard object.size == size else { return "\(name) has \(object.size) bytes instead of \(size)" }
            guard readsObjects else { return nil }
            let isThat = try hasChecksum(headers, object) ?? hasTag(etag, object)
            return isThat == false ? "\(name) is not what was put there" : nil
        } catch {
            return "\(name): \(error)"
        }
    }

    /// Whether the checksums that came with the object are those of its bytes; nil where none did, or only those of its parts.
    private func hasChecksum(_ headers: [String: String], _ object: borrowing StoredObject) throws -> Bool? {
        let (values, kind) = ObjectRecord.checksums(in: headers)
        guard !values.isEmpty, kind == .whole else { return nil }
        var hasher = ObjectHasher(values.reduce(into: []) { $0.formUnion($1.algorithm.digest) })
        try object.forEachPart { hasher.update($0) }
        let digests = hasher.finish()
        return values.allSatisfy { $0.algorithm.value(in: digests) == Base64.decode($0.value) }
    }

    /// Whether the entity tag is one of the bytes; nil where it does not tell.
    ///
    /// Entity tags are MD5 sums, or begin with half a SHA-256 and end with `-1`. Those of objects put in parts tell nothing, unless
    /// there was one part: then they end like that, too, and begin with the MD5 of what the part's tag began with.
    private func hasTag(_ etag: String, _ object: borrowing StoredObject) throws -> Bool? {
        let isOnePart = etag.hasSuffix("-1") && etag.utf8.count == 34
        guard isOnePart || etag.utf8.count == 32 else { return nil }
        var md5 = MD5()
        var sha256 = SHA256()
        try object.forEachPart {
            $0.withUnsafeBytes {
                md5.update($0)
                if isOnePart { sha256.update($0) }
            }
        }
        let sum = md5.finish()
        guard isOnePart else { return Hex.encode(sum) == etag }
        let half = Array(sha256.finish().bytes.prefix(16))
        return [half, MD5.hash(sum), MD5.hash(half)].contains { "\(Hex.encode($0))-1" == etag }
    }
}

import BucketStore
import Cryptography
import DocumentModel
import DocumentStore
import IdentityServer
import S3Server
import SQLite
import SystemIO

/// A problem of a server's data.
package struct DataProblem: Sendable, Hashable, CustomStringConvertible {
    package let description: String
    /// Whether everything else can still be used: a document, an object or an index is damaged, but
    /// no file as a whole.
    package let isContained: Bool

    package init(_ description: String, isContained: Bool) {
        self.description = description
        self.isContained = isContained
    }
}

/// A check of a data directory or a backup for damage, whether or not a server runs on it.
///
/// The check covers whether all files exist, whether each database's file is intact, whether
/// documents, their indexes and their log are consistent, whether keys and accounts can be used,
/// and whether the objects that documents refer to exist.
package struct DataCheck {
    package let layout: DataLayout
    /// Whether to read every object and compare it with its checksum or entity tag, instead of
    /// checking its size only.
    package let readsObjects: Bool
    /// Whether attachments are stored here. Otherwise missing attachments are not a problem.
    package var keepsAttachments: Bool

    package init(layout: DataLayout, readsObjects: Bool, keepsAttachments: Bool = true) {
        self.layout = layout
        self.readsObjects = readsObjects
        self.keepsAttachments = keepsAttachments
    }

    /// Returns the problems; empty if there are none.
    ///
    /// - Throws: `ServerError` if the data cannot be checked, for example because the disk is full.
    package func problems() throws -> [DataProblem] {
        var problems = DataLayout.required.filter { !FileSystem.exists("\(layout.path)/\($0)") }.map {
            DataProblem("\($0) is missing", isContained: false)
        }
        for name in try layout.databases() {
            do {
                let found = try Self.problems(
                    ofDatabase: "\(layout.path)/\(name)", isOfDocuments: layout.isOfDocuments(name))
                problems += found.map { DataProblem("\(name): \($0)", isContained: $0.isContained) }
            } catch {
                try Self.checkRoom(error)
                problems.append(DataProblem("\(name): \(error)", isContained: false))
            }
        }
        problems += try identity()
        if problems.allSatisfy(\.isContained), FileSystem.exists("\(layout.path)/\(DataLayout.index)") {
            var found: [(file: String, problem: String)] = []
            try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)") { file, size, etag, headers in
                if let problem = problem(of: file, size: size, etag: etag, headers) { found.append((file, problem)) }
            }
            problems += try present(found).map { DataProblem($0, isContained: true) }
            problems += try missingObjects().map { DataProblem("objects/\($0)", isContained: true) }
        }
        return problems
    }

    private func identity() throws -> [DataProblem] {
        do {
            return try IdentityService.check(directory: "\(layout.path)/accounts")
                .map { DataProblem("accounts: \($0)", isContained: false) }
        } catch {
            try Self.checkRoom(error)
            return [DataProblem("\(DataLayout.accounts): \(error)", isContained: false)]
        }
    }

    /// Returns the missing chunks and manifests to which documents or manifests refer.
    private func missingObjects() throws -> [String] {
        let collection = ObjectCollection(
            layout: layout, now: WallClock.microseconds(), grace: 0, keepsAttachments: keepsAttachments)
        return try collection.run(changes: false).missing
    }

    /// Throws for a full disk, which is not damage.
    private static func checkRoom(_ error: any Error) throws {
        switch error {
        case let error as SQLiteError where error.code == .full:
            throw ServerError(.failed, "The data cannot be checked. \(error.message)", cause: error)
        case let error as DocumentStoreError where error.code == .resourceExhausted:
            throw ServerError(
                .failed, "The data cannot be checked. \(error.cause ?? error.message)", cause: error)
        default: break
        }
    }

    /// Returns the problems of files that records still refer to. A running server may have freed
    /// or moved a file since it was looked up.
    func present(_ found: [(file: String, problem: String)]) throws -> [String] {
        guard !found.isEmpty else { return [] }
        var gone = Set(found.map(\.file))
        try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)") { file, _, _, _ in gone.remove(file) }
        return found.filter { !gone.contains($0.file) }.map(\.problem)
    }

    private static func problems(ofDatabase path: String, isOfDocuments: Bool) throws -> [DataProblem] {
        let database = try SQLiteDatabase(path: path)
        defer { database.close() }
        let damage = try database.quickCheck()
        guard damage.isEmpty, isOfDocuments else { return damage.map { DataProblem($0, isContained: false) } }
        return try DataLayout.documentFile(path).check(isFileSound: true)
            .map { DataProblem($0, isContained: true) }
    }

    private func problem(of file: String, size: Int64, etag: String, _ headers: [String: String]) -> String? {
        guard let place = ObjectPlace(file) else { return "\(DataLayout.index) refers to \(file), which is not valid" }
        let name = "objects/\(place)"
        do {
            let object = try StoredObject(place, in: layout.objects)
            guard object.size == size else { return "\(name) has \(object.size) bytes instead of \(size)" }
            guard readsObjects else { return nil }
            let isThat = try hasChecksum(headers, object) ?? hasTag(etag, object)
            return isThat == false ? "\(name) differs from what was stored" : nil
        } catch {
            return "\(name): \(error)"
        }
    }

    /// Whether the checksums that clients sent with the object match its bytes; nil if there are
    /// none, or only those of its parts.
    private func hasChecksum(_ headers: [String: String], _ object: borrowing StoredObject) throws -> Bool? {
        let (values, kind) = ObjectRecord.checksums(in: headers)
        guard !values.isEmpty, kind == .whole else { return nil }
        var hasher = ObjectHasher(values.reduce(into: []) { $0.formUnion($1.algorithm.digest) })
        try object.forEachPart { hasher.update($0) }
        let digests = hasher.finish()
        return values.allSatisfy { $0.algorithm.value(in: digests) == Base64.decode($0.value) }
    }

    /// Whether the entity tag matches the bytes; nil if it cannot tell.
    ///
    /// An entity tag is an MD5, or half of a SHA-256 followed by `-1`. The tag of an object
    /// uploaded in several parts says nothing about its bytes. The tag of an object uploaded in one
    /// part also ends with `-1`, and starts with the MD5 of the decoded first 16 bytes of the
    /// part's tag.
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

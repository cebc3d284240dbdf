import BucketStore
import ObjectStorage
import SQLite
import SystemIO

/// Finds and removes the chunks and manifests that no document needs. It may run beside a running
/// server.
///
/// `CollectionTerms` decide what is removed, and when. Objects marked for deletion can still be
/// read, but HEAD and listings omit them; uploading one again removes the mark. A kill at any point
/// leaves at worst a file that no record refers to. Places in segments are freed by the store.
package struct ObjectCollection {
    package let layout: DataLayout
    /// The time in microseconds since 1970, by the server's clock.
    package let now: Int64
    /// The grace period in microseconds.
    package let grace: Int64
    /// Whether attachments are stored here. Otherwise missing attachments are not a problem.
    package var keepsAttachments: Bool
    /// Whether to stop. It is called from time to time; once it returns true, `run` throws
    /// `CancellationError`, and the next run does the rest.
    package var isCancelled: () -> Bool

    package init(
        layout: DataLayout, now: Int64, grace: Int64, keepsAttachments: Bool = true,
        isCancelled: @escaping () -> Bool = { false }
    ) {
        self.layout = layout
        self.now = now
        self.grace = grace
        self.keepsAttachments = keepsAttachments
        self.isCancelled = isCancelled
    }

    /// The age in microseconds below which objects are not examined, because their upload may be in
    /// progress.
    package static let youth = microseconds(days: 1)
    /// The age in microseconds at which an unfinished multipart upload is removed.
    package static let uploadLife = microseconds(days: 7)
    private static let batch = 500

    package static func microseconds(days: Int) -> Int64 { Int64(days) * 24 * 3600 * 1_000_000 }

    private struct Stored {
        let key: String
        let hash: ContentHash
        let isManifest: Bool
        let file: String
        let size: Int64
        let modified: Int64
        /// The time since which the object is marked for deletion.
        let condemned: Int64?
    }

    /// Runs the collection.
    ///
    /// - Parameter changes: Whether to mark and remove objects; false only reports.
    package func run(changes: Bool) throws -> CollectionReport {
        var report = CollectionReport()
        let path = "\(layout.path)/\(DataLayout.index)"
        guard FileSystem.exists(path) else { return report }
        let database = try SQLiteDatabase(path: path)
        defer { database.close() }
        try database.migrate("buckets", BucketIndex.migrations)
        if changes { report.expiredUploads = try expireUploads(database) }
        // List the stored objects before the references, so that an object uploaded in between is
        // not examined.
        let stored = try objects(database)
        let references = try ObjectReferences(in: layout, of: Set(stored.keys))
        var (missing, missingChunks) = references.present
        for (user, objects) in stored.sorted(by: { $0.key < $1.key }) {
            try checkCancellation()
            missing.subtract(objects.lazy.filter(\.isManifest).map(\.hash))
            missingChunks.subtract(objects.lazy.filter { !$0.isManifest }.map(\.hash))
            try collect(objects, of: user, references, database, changes: changes, &report)
        }
        guard keepsAttachments else {
            report.missing = []
            return report
        }
        if !missing.isEmpty || !missingChunks.isEmpty {
            // A document may have been added, with its objects, after these were listed.
            for object in try objects(database).values.joined() {
                if object.isManifest { missing.remove(object.hash) } else { missingChunks.remove(object.hash) }
            }
        }
        report.add(missing: missing.map { "the manifest \($0) is missing, and documents refer to it" }.sorted())
        report.add(missing: missingChunks.map { "the chunk \($0) is missing, and documents refer to it" }.sorted())
        return report
    }

    private func collect(
        _ objects: [Stored], of user: String, _ references: ObjectReferences, _ database: SQLiteDatabase,
        changes: Bool, _ report: inout CollectionReport
    ) throws {
        var needed = references.manifests
        let isKnown = references.usersWithDocuments.contains(user)
        if !isKnown {
            report.problems.append("the user \(user) has objects and no documents here; they are left unchanged")
        }
        let manifests = objects.filter { $0.isManifest && needed.contains($0.hash) }
        let isWhole = try chunks(of: manifests, database, &needed, &report)
        let chunks = Set(objects.lazy.filter { !$0.isManifest }.map(\.hash))
        report.add(
            missing: needed.subtracting(references.manifests).subtracting(chunks).sorted().map {
                "the chunk \($0) of the user \(user) is missing, and manifests refer to it"
            })
        needed.formUnion(references.chunks)
        var (acquitted, condemned, dead): ([Stored], [Stored], [Stored]) = ([], [], [])
        let terms = CollectionTerms(now: now, grace: grace, youth: Self.youth)
        for object in objects {
            let isNeeded = needed.contains(object.hash) || !isKnown || !isWhole
            let verdict = terms.verdict(isNeeded: isNeeded, modified: object.modified, condemned: object.condemned)
            switch verdict {
            case .acquit: acquitted.append(object)
            case .condemn: condemned.append(object)
            case .remove: dead.append(object)
            case .keep, .wait: break
            }
            report.add(object.size, isNeeded: isNeeded, isRemoved: verdict == .remove)
        }
        guard changes else { return }
        try inBatches(acquitted, database) { try database.unmark(DataLayout.bucket, $0.key) }
        try inBatches(condemned, database) { object in
            try database.execute(
                "INSERT OR IGNORE INTO condemned SELECT bucket, key, ? FROM object WHERE bucket = ? AND key = ? AND file = ?",
                [.integer(now), .text(DataLayout.bucket), .text(object.key), .text(object.file)])
        }
        try inBatches(dead, database) { object in
            // Skip it if it was uploaded again, or unmarked, since it was examined.
            let condition = """
                FROM object WHERE bucket = ?1 AND key = ?2 AND file = ?3
                    AND EXISTS (SELECT 1 FROM condemned WHERE bucket = ?1 AND key = ?2)
                """
            let values: [SQLiteValue] = [.text(DataLayout.bucket), .text(object.key), .text(object.file)]
            try Self.release("SELECT file \(condition)", values, database)
            try database.execute("DELETE \(condition)", values)
            if try database.object(DataLayout.bucket, object.key) == nil {
                try database.unmark(DataLayout.bucket, object.key)
            }
        }
        for object in dead where try database.object(DataLayout.bucket, object.key)?.file != object.file {
            remove(object.file)
        }
    }

    /// Leaves the places in segments among `files`, a query, to the store; see
    /// `DirectoryBucketStore.discardReleased`.
    private static func release(_ files: String, _ values: [SQLiteValue], _ database: SQLiteDatabase) throws {
        try database.execute("INSERT OR IGNORE INTO released SELECT file FROM (\(files)) WHERE file LIKE 's/%'", values)
    }

    /// Removes the file of an object that has its own.
    private func remove(_ file: String) {
        guard case .file? = ObjectPlace(file) else { return }
        _ = try? FileSystem.remove("\(layout.objects)/files/\(file)")
    }

    /// Adds the chunks of the manifests to `needed`. Returns false if a manifest cannot be read,
    /// because the chunks that it needs are then unknown.
    private func chunks(
        of manifests: [Stored], _ database: SQLiteDatabase, _ needed: inout Set<ContentHash>,
        _ report: inout CollectionReport
    ) throws -> Bool {
        var isWhole = true
        for manifest in manifests {
            try checkCancellation()
            do {
                let bytes = try bytes(of: manifest, at: manifest.file, database)
                needed.formUnion(try Manifest(parsing: bytes).chunks.lazy.map(\.id))
            } catch {
                isWhole = false
                report.add(missing: [
                    "\(manifest.key) is damaged, so all objects of this user are left unchanged: \(error)"
                ])
            }
        }
        return isWhole
    }

    private func bytes(of manifest: Stored, at file: String, _ database: SQLiteDatabase) throws -> [UInt8] {
        do {
            guard let place = ObjectPlace(file) else { throw ServerError(.damaged, "\(file) is not a valid place") }
            let object = try StoredObject(place, in: layout.objects)
            let bytes = try object.read(Manifest.byteLimit, at: 0)
            guard object.size <= Manifest.byteLimit, ContentHash(of: bytes) == manifest.hash else {
                throw ServerError(.damaged, "it differs from what was stored")
            }
            return bytes
        } catch {
            // A running server may have moved it since it was looked up.
            let present = try database.object(DataLayout.bucket, manifest.key)?.file
            guard let present, present != file else { throw error }
            return try bytes(of: manifest, at: present, database)
        }
    }

    private func inBatches(
        _ objects: [Stored], _ database: SQLiteDatabase, _ change: (Stored) throws -> Void
    ) throws {
        for start in stride(from: 0, to: objects.count, by: Self.batch) {
            try checkCancellation()
            try database.transaction { for object in objects[start...].prefix(Self.batch) { try change(object) } }
        }
    }

    private func checkCancellation() throws {
        if isCancelled() { throw CancellationError() }
    }

    /// Returns the chunks and manifests of each user. Objects with other keys are ignored.
    private func objects(_ database: SQLiteDatabase) throws -> [String: [Stored]] {
        var objects: [String: [Stored]] = [:]
        let sql = """
            SELECT object.key, file, size, modified, since FROM object
            LEFT JOIN condemned ON condemned.bucket = object.bucket AND condemned.key = object.key
            WHERE object.bucket = ?
            """
        try database.query(sql, [.text(DataLayout.bucket)]) { row in
            let key = row.text(0)
            guard let (user, isManifest, hash) = Self.parts(of: key) else { return }
            objects[user, default: []].append(
                Stored(
                    key: key, hash: hash, isManifest: isManifest, file: row.text(1), size: row.int64(2),
                    modified: row.int64(3), condemned: row.optionalInt64(4)))
        }
        return objects
    }

    static func parts(of key: String) -> (user: String, isManifest: Bool, hash: ContentHash)? {
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, let hash = ContentHash(hex: parts[3]),
            let namespace = try? ObjectNamespace(user: String(parts[0]))
        else { return nil }
        if namespace.chunk(hash).text == key { return (namespace.user, false, hash) }
        if namespace.manifest(hash).text == key { return (namespace.user, true, hash) }
        return nil
    }

    private func expireUploads(_ database: SQLiteDatabase) throws -> Int {
        var files: [String] = []
        let before = SQLiteValue.integer(now - Self.uploadLife)
        let count = try database.transaction {
            let expired = "SELECT file FROM part JOIN upload ON upload.id = part.upload WHERE created < ?"
            try database.query(expired, [before]) { files.append($0.text(0)) }
            try Self.release(expired, [before], database)
            let count = try database.first("SELECT count(*) FROM upload WHERE created < ?", [before]) { $0.int(0) } ?? 0
            try database.execute("DELETE FROM part WHERE upload IN (SELECT id FROM upload WHERE created < ?)", [before])
            try database.execute("DELETE FROM upload WHERE created < ?", [before])
            return count
        }
        for file in files { remove(file) }
        return count
    }
}

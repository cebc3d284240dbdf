import JSON
package import SQLite
import Synchronization
import SystemIO

/// The index of buckets, objects and multipart uploads, in SQLite. The bytes are stored elsewhere;
/// see `ObjectPlace`.
///
/// A change is durable when its call returns; concurrent changes share one sync.
package actor BucketIndex {
    private let database: SQLiteActor
    private let reader: Mutex<SQLiteDatabase>
    private let listings: SQLiteActor
    private let turns = TurnPool(workers: 1)
    private var waiting: [Change] = []
    private var isWriting = false

    /// The executor of the database's thread, so that a change needs no other thread.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { database.unownedExecutor }

    /// One change and its caller. The change returns the files that records no longer refer to.
    private struct Change: Sendable {
        let apply: @Sendable (SQLiteDatabase) throws -> [String]
        let done: CheckedContinuation<[String], any Error>
    }

    init(path: String) throws {
        database = try SQLiteActor(path: path) { try $0.migrate("buckets", Self.migrations) }
        reader = Mutex(try SQLiteDatabase(path: path, configuration: SQLiteConfiguration().readOnly))
        listings = try SQLiteActor(path: path, configuration: SQLiteConfiguration().readOnly)
    }

    /// The versions of the schema, for programs that open the index of a running store.
    package static let migrations = [
        SQLiteMigration(
            "buckets, objects and multipart uploads",
            sql: """
                CREATE TABLE bucket(name TEXT PRIMARY KEY, created INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                CREATE TABLE object(
                    bucket TEXT NOT NULL REFERENCES bucket, key TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL,
                    etag TEXT NOT NULL, modified INTEGER NOT NULL, type TEXT NOT NULL, headers TEXT NOT NULL,
                    PRIMARY KEY (bucket, key)) STRICT, WITHOUT ROWID;
                CREATE TABLE upload(
                    id TEXT PRIMARY KEY, bucket TEXT NOT NULL REFERENCES bucket, key TEXT NOT NULL, created INTEGER NOT NULL,
                    type TEXT NOT NULL, headers TEXT NOT NULL) STRICT, WITHOUT ROWID;
                CREATE TABLE part(
                    upload TEXT NOT NULL REFERENCES upload ON DELETE CASCADE, number INTEGER NOT NULL, file TEXT NOT NULL,
                    size INTEGER NOT NULL, etag TEXT NOT NULL, modified INTEGER NOT NULL,
                    PRIMARY KEY (upload, number)) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "objects that nothing needs, see ObjectCollection",
            sql: """
                CREATE TABLE condemned(
                    bucket TEXT NOT NULL, key TEXT NOT NULL, since INTEGER NOT NULL,
                    PRIMARY KEY (bucket, key)) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "places in segments that a collection has left without an owner",
            sql: "CREATE TABLE released(file TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;"),
        SQLiteMigration("checksums of parts", sql: "ALTER TABLE part ADD COLUMN checksum TEXT;"),
        SQLiteMigration(
            "which pages of other sites may use a bucket",
            sql: """
                CREATE TABLE cors(
                    bucket TEXT PRIMARY KEY REFERENCES bucket ON DELETE CASCADE, rules TEXT NOT NULL) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "what the parts of an upload count, see UploadLimits",
            sql: """
                ALTER TABLE upload ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
                UPDATE upload SET counted = (SELECT coalesce(sum(max(size, 1048576)), 0) FROM part WHERE upload = id);
                CREATE INDEX upload_by_key ON upload(bucket, key, id);
                """),
        SQLiteMigration("bytes of each user", sql: ObjectUsage.schema),
        SQLiteMigration("number of each user's objects", sql: ObjectUsage.objectCounts),
    ]

    /// Reads the committed state, on the thread of the index.
    package func read<Result: Sendable>(_ body: @Sendable (SQLiteDatabase) throws -> Result) async throws -> Result {
        try await database.run(body)
    }

    /// Reads the committed state on the caller's thread. Use it for short look-ups, such as that of
    /// one object.
    package nonisolated func readHere<Result: Sendable>(_ body: (SQLiteDatabase) throws -> Result) throws -> Result {
        try reader.withLock { try body($0) }
    }

    /// Reads what is committed, on a thread for listings, which may take long: changes do not wait
    /// for them, and accounts take turns.
    package nonisolated func list<Result: Sendable>(
        for account: String?, _ body: @Sendable (SQLiteDatabase) throws -> Result
    ) async throws -> Result {
        try await turns.run(for: account) { _ in try await listings.run(body) }
    }

    func close() async {
        reader.withLock { $0.close() }
        await listings.close()
        await database.close()
    }

    /// Applies a change in a transaction. Returns the files that it left without a record, once it
    /// is durable.
    ///
    /// A change that throws is undone and does not affect concurrent ones.
    package func write(_ change: @escaping @Sendable (SQLiteDatabase) throws -> [String]) async throws -> [String] {
        try await withCheckedThrowingContinuation { done in
            waiting.append(Change(apply: change, done: done))
            guard !isWriting else { return }
            isWriting = true
            Task { await flush() }
        }
    }

    /// Commits the changes that have arrived, one group after another, until none is left.
    private func flush() async {
        while !waiting.isEmpty {
            let group = waiting
            waiting = []
            let outcome: Result<[Result<[String], any Error>], any Error>
            do {
                outcome = .success(
                    try await database.transaction { database in
                        group.map { change in Result { try database.savepoint { try change.apply(database) } } }
                    })
            } catch {
                outcome = .failure(error)
            }
            for (position, change) in group.enumerated() {
                change.done.resume(with: outcome.flatMap { $0[position] })
            }
        }
        isWriting = false
    }
}

extension SQLiteDatabase {
    /// Returns the record of an object; nil if there is none.
    package func object(_ bucket: String, _ key: String) throws -> ObjectRecord? {
        try first(
            "SELECT key, file, size, etag, modified, type, headers FROM object WHERE bucket = ? AND key = ?",
            [.text(bucket), .text(key)]
        ) { ObjectRecord(row: $0) }
    }

    /// Stores a record, and returns the file of the object that it replaces.
    package func put(_ record: ObjectRecord, in bucket: String) throws -> [String] {
        try exchange(record, in: bucket).unused
    }

    /// Stores a record, and returns the file of the object that it replaces and by how many bytes
    /// the object has grown.
    package func exchange(_ record: ObjectRecord, in bucket: String) throws -> (unused: [String], growth: Int64) {
        let replaced = try object(bucket, record.key)
        try execute(
            // INSERT OR REPLACE would not run the triggers for the replaced row.
            """
            INSERT INTO object VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (bucket, key) DO UPDATE SET
                file = excluded.file, size = excluded.size, etag = excluded.etag, modified = excluded.modified,
                type = excluded.type, headers = excluded.headers
            """,
            [
                .text(bucket), .text(record.key), .text(record.file), .integer(record.size), .text(record.etag),
                .integer(record.modified), .text(record.contentType), .text(record.headers.jsonText),
            ])
        try unmark(bucket, record.key)
        return (replaced.map { [$0.file] } ?? [], record.size - (replaced?.size ?? 0))
    }

    /// Whether a collection of objects has marked an object for deletion. Objects marked for
    /// deletion can still be read, but HEAD and listings omit them; uploading one again removes the
    /// mark.
    package func isMarkedForDeletion(_ bucket: String, _ key: String) throws -> Bool {
        try first("SELECT 1 FROM condemned WHERE bucket = ? AND key = ?", [.text(bucket), .text(key)]) { _ in true }
            ?? false
    }

    /// Removes the mark for deletion from an object.
    package func unmark(_ bucket: String, _ key: String) throws {
        try execute("DELETE FROM condemned WHERE bucket = ? AND key = ?", [.text(bucket), .text(key)])
    }

    /// Removes an object.
    package func removeObject(_ bucket: String, _ key: String) throws {
        try execute("DELETE FROM object WHERE bucket = ? AND key = ?", [.text(bucket), .text(key)])
        try unmark(bucket, key)
    }

    /// Removes objects whose keys begin with `prefix`, at most `limit` from the key `start` on, and at
    /// most `limit` multipart uploads.
    ///
    /// - Parameter kept: The keys of objects that stay.
    /// - Returns: The removed files, and the key to continue from; nil when nothing is left.
    package func removeObjects(
        below prefix: String, in bucket: String, from start: String, keeping kept: Set<String>, limit: Int
    ) throws -> (files: [String], next: String?) {
        var (keys, files): ([String], [String]) = ([], [])
        try query(
            "SELECT key, file FROM object WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?",
            [.text(bucket), .text(start), .text(prefix.endOfPrefix), .int(limit)]
        ) { row in
            keys.append(row.text(0))
            if !kept.contains(row.text(0)) { files.append(row.text(1)) }
        }
        for key in keys where !kept.contains(key) { try removeObject(bucket, key) }
        let range: [SQLiteValue] = [.text(bucket), .text(prefix), .text(prefix.endOfPrefix), .int(limit)]
        var uploads: [String] = []
        try query("SELECT id FROM upload WHERE bucket = ? AND key >= ? AND key < ? LIMIT ?", range) {
            uploads.append($0.text(0))
        }
        for upload in uploads { files += try removeUpload(upload) }
        guard let last = keys.last else { return (files, uploads.isEmpty ? nil : start) }
        // The smallest key that is greater in byte order.
        return (files, last + "\0")
    }

    /// Returns a page of the objects whose keys begin with `prefix` and come after `after`, in byte
    /// order, grouped at `delimiter`. Objects marked for deletion are omitted.
    package func list(_ bucket: String, prefix: String, delimiter: String?, after: String, limit: Int) throws
        -> ObjectListing
    {
        var listing = ObjectListing(entries: [], next: nil)
        guard limit > 0 else { return listing }
        var after = after
        // One look-up skips all keys of a common prefix instead of reading them row by row. If the
        // previous page ended with a common prefix, this page starts after all keys with that
        // prefix.
        var jumps = delimiter.map { after.commonPrefix(after: prefix, delimiter: $0) == after } ?? false
        while true {
            let page = try page(bucket, prefix: prefix, after: after, skippingPrefix: jumps, limit: limit + 1)
            guard !page.isEmpty else { return listing }
            jumps = false
            for record in page {
                guard listing.entries.count < limit else {
                    listing.next = after
                    return listing
                }
                if let delimiter, let group = record.key.commonPrefix(after: prefix, delimiter: delimiter) {
                    listing.entries.append(.prefix(group))
                    after = group
                    jumps = true
                    break
                }
                listing.entries.append(.object(record))
                after = record.key
            }
        }
    }

    private func page(_ bucket: String, prefix: String, after: String, skippingPrefix: Bool, limit: Int) throws
        -> [ObjectRecord]
    {
        let start = skippingPrefix ? after.endOfPrefix : after
        var records: [ObjectRecord] = []
        try query(
            """
            SELECT key, file, size, etag, modified, type, headers FROM object
            WHERE bucket = ?1 AND key >= ?2 AND key \(skippingPrefix ? ">=" : ">") ?3 AND key < ?4 AND NOT EXISTS (
                SELECT 1 FROM condemned WHERE condemned.bucket = object.bucket AND condemned.key = object.key)
            ORDER BY key LIMIT ?5
            """,
            [.text(bucket), .text(prefix), .text(start), .text(prefix.endOfPrefix), .int(limit)]
        ) { records.append(ObjectRecord(row: $0)) }
        return records
    }
}

extension ObjectRecord {
    fileprivate init(row: SQLiteStatement) {
        self.init(
            key: row.text(0), file: row.text(1), size: row.int64(2), etag: row.text(3), modified: row.int64(4),
            contentType: row.text(5), headers: [String: String](jsonText: row.text(6)))
    }
}

extension String {
    /// A text that sorts after every key with this prefix. U+10FFFF is the last character, and keys
    /// may not contain it.
    package var endOfPrefix: String { self + "\u{10FFFF}" }

    /// Returns the key up to and including the first delimiter after the prefix; nil if the key
    /// does not start with the prefix or has no delimiter after it.
    package func commonPrefix(after prefix: String, delimiter: String) -> String? {
        guard !delimiter.isEmpty, utf8.starts(with: prefix.utf8),
            let range = self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...].firstRange(of: delimiter)
        else { return nil }
        return String(self[..<range.upperBound])
    }
}

extension [String: String] {
    /// Creates a dictionary from a JSON object of strings; empty for any other text.
    package init(jsonText: String) {
        self = [:]
        guard let object = (try? JSON(parsing: jsonText))?.objectValue else { return }
        for (key, value) in object { self[key] = value.stringValue }
    }

    /// A JSON object with the keys in order.
    package var jsonText: String {
        var object = JSONObject()
        for (key, value) in sorted(by: { $0.key < $1.key }) { object[key] = .string(value) }
        return JSON.object(object).text
    }
}

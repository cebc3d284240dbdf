package import SQLite

/// A page of a listing of multipart uploads, by key and id.
package struct UploadListing: Sendable {
    package enum Entry: Sendable {
        case upload(MultipartUpload)
        /// A common prefix, up to and including the delimiter.
        case prefix(String)
    }

    package var entries: [Entry] = []
    /// The key and the upload after which the next page starts; nil at the end.
    package var next: (key: String, id: String)?
}

extension UploadedPart {
    /// Returns the bytes that a part of this size counts for: at least 1 MiB, because tiny parts
    /// cost a server much more than their bytes. All parts of a completed object except the last
    /// have at least 5 MiB.
    package static func countedSize(_ size: Int64) -> Int64 { max(size, 1 << 20) }
}

/// The tables of multipart uploads.
extension SQLiteDatabase {
    /// Returns the upload with an id; nil if it was never started, is completed, or was aborted.
    package func upload(_ id: String) throws -> MultipartUpload? {
        try first("SELECT id, bucket, key, created, type, headers FROM upload WHERE id = ?", [.text(id)]) {
            MultipartUpload(row: $0)
        }
    }

    /// Starts an upload.
    package func begin(_ upload: MultipartUpload) throws {
        try execute(
            "INSERT INTO upload(id, bucket, key, created, type, headers) VALUES (?, ?, ?, ?, ?, ?)",
            [
                .text(upload.id), .text(upload.bucket), .text(upload.key), .integer(upload.created),
                .text(upload.contentType), .text(upload.headers.jsonText),
            ])
    }

    /// Removes an upload and its parts, and returns their files.
    package func removeUpload(_ id: String) throws -> [String] {
        var files: [String] = []
        try query("SELECT file FROM part WHERE upload = ?", [.text(id)]) { files.append($0.text(0)) }
        try execute("DELETE FROM upload WHERE id = ?", [.text(id)])
        return files
    }

    /// Returns a page of the uploads whose keys begin with `prefix`, by key and id, grouped at
    /// `delimiter`.
    ///
    /// - Parameter after: The position after which the page starts. Without an id, the page starts
    ///   after all uploads of the key.
    package func uploads(
        _ bucket: String, prefix: String, delimiter: String?, after: (key: String, id: String), limit: Int
    ) throws -> UploadListing {
        var listing = UploadListing()
        var after = after
        // If the previous page ended with a common prefix, this page starts after all keys with
        // that prefix.
        var jumps = delimiter.map { after.key.commonPrefix(after: prefix, delimiter: $0) == after.key } ?? false
        while true {
            let start = jumps ? after.key.endOfPrefix : after.key
            var page: [MultipartUpload] = []
            try query(
                """
                SELECT id, bucket, key, created, type, headers FROM upload
                WHERE bucket = ?1 AND key >= ?2 AND key < ?3 AND (key > ?4 OR key = ?4 AND ?5 <> '' AND id > ?5)
                ORDER BY key, id LIMIT ?6
                """,
                [
                    .text(bucket), .text(prefix), .text(prefix.endOfPrefix), .text(start),
                    .text(jumps ? "" : after.id), .int(limit + 1),
                ]
            ) { page.append(MultipartUpload(row: $0)) }
            guard !page.isEmpty else { return listing }
            jumps = false
            for upload in page {
                guard listing.entries.count < limit else {
                    listing.next = after
                    return listing
                }
                if let delimiter, let group = upload.key.commonPrefix(after: prefix, delimiter: delimiter) {
                    listing.entries.append(.prefix(group))
                    after = (group, "")
                    jumps = true
                    break
                }
                listing.entries.append(.upload(upload))
                after = (upload.key, upload.id)
            }
        }
    }

    /// Returns the number of uploads whose keys begin with `prefix`, and the bytes that their parts
    /// count for.
    package func unfinished(_ bucket: String, prefix: String) throws -> (uploads: Int, counted: Int64) {
        try first(
            "SELECT count(*), coalesce(sum(counted), 0) FROM upload WHERE bucket = ? AND key >= ? AND key < ?",
            [.text(bucket), .text(prefix), .text(prefix.endOfPrefix)]
        ) { ($0.int(0), $0.int64(1)) } ?? (0, 0)
    }

    // MARK: parts

    /// Returns the file and the size of a part; nil if there is no part with that number.
    package func part(_ upload: String, _ number: Int) throws -> (file: String, size: Int64)? {
        try first("SELECT file, size FROM part WHERE upload = ? AND number = ?", [.text(upload), .int(number)]) {
            ($0.text(0), $0.int64(1))
        }
    }

    /// Returns the parts of an upload by number.
    package func parts(_ upload: String) throws -> [UploadedPart] {
        var parts: [UploadedPart] = []
        try query(
            "SELECT number, file, size, etag, modified, checksum FROM part WHERE upload = ? ORDER BY number",
            [.text(upload)]
        ) { row in
            parts.append(
                UploadedPart(
                    number: row.int(0), file: row.text(1), size: row.int64(2), etag: row.text(3),
                    modified: row.int64(4), checksum: row.optionalText(5)))
        }
        return parts
    }

    /// Stores a part, and returns the file of the part that it replaces and by how many bytes the
    /// upload has grown.
    package func exchange(_ part: UploadedPart, of upload: String) throws -> (unused: [String], growth: Int64) {
        let replaced = try self.part(upload, part.number)
        let more =
            UploadedPart.countedSize(part.size) - (replaced.map { UploadedPart.countedSize($0.size) } ?? 0)
        try execute("UPDATE upload SET counted = counted + ? WHERE id = ?", [.integer(more), .text(upload)])
        try execute(
            // INSERT OR REPLACE would not run the triggers for the replaced row.
            """
            INSERT INTO part VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (upload, number) DO UPDATE SET
                file = excluded.file, size = excluded.size, etag = excluded.etag, modified = excluded.modified,
                checksum = excluded.checksum
            """,
            [
                .text(upload), .int(part.number), .text(part.file), .integer(part.size), .text(part.etag),
                .integer(part.modified), .optional(part.checksum),
            ])
        return (replaced.map { [$0.file] } ?? [], part.size - (replaced?.size ?? 0))
    }
}

extension MultipartUpload {
    fileprivate init(row: SQLiteStatement) {
        self.init(
            id: row.text(0), bucket: row.text(1), key: row.text(2), created: row.int64(3), contentType: row.text(4),
            headers: [String: String](jsonText: row.text(5)))
    }
}

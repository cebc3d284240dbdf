package import SQLite

/// The table of buckets.
extension SQLiteDatabase {
    /// Whether there is a bucket of that name.
    package func hasBucket(_ bucket: String) throws -> Bool {
        try first("SELECT 1 FROM bucket WHERE name = ?", [.text(bucket)]) { _ in true } ?? false
    }

    /// Returns the buckets whose names come after `name`, with their creation in microseconds since
    /// 1970.
    package func buckets(after name: String) throws -> [(name: String, created: Int64)] {
        var buckets: [(name: String, created: Int64)] = []
        try query("SELECT name, created FROM bucket WHERE name > ? ORDER BY name", [.text(name)]) { row in
            buckets.append((row.text(0), row.int64(1)))
        }
        return buckets
    }

    /// Whether a bucket holds objects.
    package func hasObjects(in bucket: String) throws -> Bool {
        try first("SELECT 1 FROM object WHERE bucket = ? LIMIT 1", [.text(bucket)]) { _ in true } ?? false
    }

    /// Removes a bucket that holds no objects together with its unfinished uploads, and returns
    /// their files.
    package func removeBucket(_ bucket: String) throws -> [String] {
        var files: [String] = []
        let parts = "FROM part WHERE upload IN (SELECT id FROM upload WHERE bucket = ?)"
        try query("SELECT file \(parts)", [.text(bucket)]) { files.append($0.text(0)) }
        try execute("DELETE \(parts)", [.text(bucket)])
        try execute("DELETE FROM upload WHERE bucket = ?", [.text(bucket)])
        try execute("DELETE FROM bucket WHERE name = ?", [.text(bucket)])
        return files
    }

    /// Returns the text of a bucket's cross-origin rules; nil if there are none.
    package func crossOriginRules(of bucket: String) throws -> String? {
        try first("SELECT rules FROM cors WHERE bucket = ?", [.text(bucket)]) { $0.text(0) }
    }

    /// Sets the text of a bucket's cross-origin rules; nil removes them.
    package func setCrossOriginRules(_ rules: String?, of bucket: String) throws {
        if let rules {
            try execute("INSERT OR REPLACE INTO cors VALUES (?, ?)", [.text(bucket), .text(rules)])
        } else {
            try execute("DELETE FROM cors WHERE bucket = ?", [.text(bucket)])
        }
    }
}

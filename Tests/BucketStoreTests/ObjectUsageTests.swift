import SQLite
import SystemTestKit
import Testing

@testable import BucketStore

struct ObjectUsageTests {
    private func record(_ key: String, _ size: Int64) -> ObjectRecord {
        ObjectRecord(
            key: key, file: "00/\(key.hashValue)", size: size, etag: "", modified: 0, contentType: "", headers: [:])
    }

    private func database() throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: ":memory:")
        try database.migrate("buckets", BucketIndex.migrations)
        try database.execute("INSERT INTO bucket VALUES ('ferry', 0)")
        return database
    }

    private func addUpload(of key: String, to database: SQLiteDatabase) throws {
        let sql = "INSERT INTO upload(id, bucket, key, created, type, headers) VALUES ('u', 'ferry', ?, 0, '', '{}')"
        try database.execute(sql, [.text(key)])
    }

    @Test func `bytes are counted by the first part of keys through all changes of an object`() throws {
        let database = try database()
        _ = try database.put(record("anna/a", 10), in: "ferry")
        _ = try database.put(record("anna/b/c", 5), in: "ferry")
        _ = try database.put(record("bob/a", 7), in: "ferry")
        for key in ["a", "/a", "anna"] { _ = try database.put(record(key, 1000), in: "ferry") }
        #expect(try database.usage(of: "anna") == 15)
        #expect(try database.exchange(record("anna/a", 3), in: "ferry").growth == -7)
        #expect(try database.usage(of: "anna") == 8 && database.usage(of: "bob") == 7)
        _ = try database.exchange(record("anna/a", 12), in: "ferry")
        #expect(try database.use(by: "anna") == (17, 2))
        _ = try database.put(record("anna/empty", 0), in: "ferry")
        #expect(try database.use(by: "anna") == (17, 3))
        // As ObjectCollection does.
        try database.execute("DELETE FROM object WHERE key LIKE 'anna/%'")
        #expect(try database.use(by: "anna") == (0, 0) && database.use(by: "nobody") == (0, 0))
    }

    @Test func `parts of an upload are counted until it ends`() throws {
        let database = try database()
        try addUpload(of: "anna/a", to: database)
        for (number, size) in [(1, 10), (2, 20)] {
            try database.execute(
                "INSERT INTO part VALUES ('u', ?, 'f', ?, '', 0, NULL)", [.int(number), .int(size)])
        }
        #expect(try database.usage(of: "anna") == 30)
        try database.execute("UPDATE part SET size = 15 WHERE number = 1")
        #expect(try database.usage(of: "anna") == 35)
        try database.execute("DELETE FROM part WHERE number = 2")
        #expect(try database.usage(of: "anna") == 15)
        try database.execute("DELETE FROM upload")
        #expect(try database.usage(of: "anna") == 0)
        #expect(try database.first("SELECT count(*) FROM part") { $0.int(0) } == 0)
    }

    @Test func `an index of an earlier version is counted when it is opened`() throws {
        let directory = try TemporaryDirectory()
        let database = try SQLiteDatabase(path: "\(directory.path)/index.db")
        try database.migrate("buckets", Array(BucketIndex.migrations.dropLast(2)))
        try database.executeScript(
            """
            INSERT INTO bucket VALUES ('ferry', 0);
            INSERT INTO object VALUES ('ferry', 'anna/a', 'f', 10, '', 0, '', '{}');
            INSERT INTO object VALUES ('ferry', 'anna/b', 'f', 5, '', 0, '', '{}');
            INSERT INTO object VALUES ('ferry', 'b', 'f', 5, '', 0, '', '{}');
            INSERT INTO upload(id, bucket, key, created, type, headers) VALUES ('u', 'ferry', 'bob/a', 0, '', '{}');
            INSERT INTO part VALUES ('u', 1, 'f', 7, '', 0, NULL);
            """)
        try database.migrate("buckets", BucketIndex.migrations)
        #expect(try database.use(by: "anna") == (15, 2) && database.use(by: "bob") == (7, 0))
        #expect(try database.first("SELECT count(*) FROM usage") { $0.int(0) } == 2)
    }

    @Test func `objects below a prefix are removed, except those that are kept`() throws {
        let database = try database()
        for number in 0..<5 { _ = try database.put(record("anna/\(number)", 1), in: "ferry") }
        _ = try database.put(record("annab/1", 1), in: "ferry")
        try addUpload(of: "anna/x", to: database)
        try database.execute("INSERT INTO part VALUES ('u', 1, 'part', 7, '', 0, NULL)")
        var files: [String] = []
        var next: String? = "anna/"
        while let start = next {
            let removed = try database.removeObjects(
                below: "anna/", in: "ferry", from: start, keeping: ["anna/1", "anna/3"], limit: 2)
            files += removed.files
            next = removed.next
        }
        #expect(files.count == 4 && files.contains("part"))
        #expect(try database.object("ferry", "anna/1") != nil && database.object("ferry", "anna/3") != nil)
        #expect(try database.usage(of: "anna") == 2 && database.usage(of: "annab") == 1)
        #expect(try database.first("SELECT count(*) FROM upload") { $0.int(0) } == 0)
    }
}

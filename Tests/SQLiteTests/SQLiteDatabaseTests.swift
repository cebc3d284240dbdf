import Foundation
import SQLite
import SystemTestKit
import Testing

struct SQLiteDatabaseTests {
    private struct Stop: Error {}

    private let directory: TemporaryDirectory
    private let database: SQLiteDatabase

    init() throws {
        directory = try TemporaryDirectory()
        database = try SQLiteDatabase(path: directory.file("a.db"))
        try database.executeScript("CREATE TABLE t(k INTEGER PRIMARY KEY, v)")
    }

    private func values() throws -> [SQLiteValue] {
        var found: [SQLiteValue] = []
        try database.query("SELECT v FROM t ORDER BY k") { found.append($0.value(0)) }
        return found
    }

    @Test(arguments: [
        SQLiteValue.null, .integer(.min), .integer(.max), .real(-0.5), .text(""), .text("a\u{0}b é 😀"), .blob([]),
        .blob([0, 255, 0]),
    ])
    func `a bound value comes back with its type`(value: SQLiteValue) throws {
        try database.execute("INSERT INTO t(v) VALUES(?)", [value])
        #expect(try values() == [value])
    }

    @Test func `a blob can be read in place`() throws {
        try database.execute("INSERT INTO t(v) VALUES(?)", [.blob([1, 2, 3])])
        let sum = try database.first("SELECT v FROM t") { row in row.withBytes(0) { $0.reduce(0) { $0 + Int($1) } } }
        #expect(sum == 6)
    }

    @Test func `a transaction that throws changes nothing`() throws {
        #expect(throws: Stop.self) {
            try database.transaction {
                try database.execute("INSERT INTO t(v) VALUES(1)")
                throw Stop()
            }
        }
        #expect(try values() == [])
        #expect(!database.isInTransaction)
    }

    @Test func `a transaction can reach the disk sooner or later than the next one`() throws {
        func synchronous() throws -> Int64? { try database.first("PRAGMA synchronous") { $0.int64(0) } }
        #expect(try database.transaction(.normal) { try synchronous() } == 1)
        #expect(try synchronous() == 2)
        #expect(throws: Stop.self) { try database.transaction(.normal) { throw Stop() } }
        #expect(try database.transaction { try database.transaction(.normal) { try synchronous() } } == 2)
    }

    @Test func `an inner transaction that throws leaves the outer one going`() throws {
        try database.transaction {
            try database.execute("INSERT INTO t(v) VALUES(1)")
            #expect(throws: Stop.self) {
                try database.transaction {
                    try database.execute("INSERT INTO t(v) VALUES(2)")
                    throw Stop()
                }
            }
            try database.execute("INSERT INTO t(v) VALUES(3)")
        }
        #expect(try values() == [.integer(1), .integer(3)])
    }

    @Test func `the same statement can be used inside itself`() throws {
        for value in 1...3 { try database.execute("INSERT INTO t(v) VALUES(?)", [.int(value)]) }
        var pairs = 0
        try database.query("SELECT v FROM t") { _ in try database.query("SELECT v FROM t") { _ in pairs += 1 } }
        #expect(pairs == 9)
    }

    @Test func `a reader neither waits for the writer nor sees half of its work`() throws {
        let reader = try SQLiteDatabase(path: database.path, configuration: SQLiteConfiguration().readOnly)
        try database.transaction {
            try database.execute("INSERT INTO t(v) VALUES(1)")
            #expect(try reader.first("SELECT count(*) FROM t") { $0.int(0) } == 0)
        }
        #expect(try reader.first("SELECT count(*) FROM t") { $0.int(0) } == 1)
    }

    @Test func `a snapshot does not change while others write`() throws {
        let reader = try SQLiteDatabase(path: database.path, configuration: SQLiteConfiguration().readOnly)
        try reader.snapshot {
            #expect(try reader.first("SELECT count(*) FROM t") { $0.int(0) } == 0)
            try database.execute("INSERT INTO t(v) VALUES(1)")
            #expect(try reader.first("SELECT count(*) FROM t") { $0.int(0) } == 0)
        }
        #expect(try reader.first("SELECT count(*) FROM t") { $0.int(0) } == 1)
    }

    @Test func `a backup is one whole file and replaces an older one`() throws {
        try database.execute("INSERT INTO t(v) VALUES('kept')")
        let copyPath = directory.file("copy.db")
        for _ in 1...2 { try database.backUp(to: copyPath) }
        let copy = try SQLiteDatabase(path: copyPath)
        #expect(try copy.first("SELECT v FROM t") { $0.text(0) } == "kept")
        #expect(try copy.quickCheck() == [])
        #expect(!FileManager.default.fileExists(atPath: copyPath + ".partial"))
    }

    @Test func `use after close is an error and not a crash`() throws {
        let statement = try database.prepare("SELECT 1")
        database.close()
        database.close()
        #expect(try statement.step())
        #expect { try database.execute("SELECT 1") } throws: { ($0 as? SQLiteError)?.code == .misuse }
    }
}

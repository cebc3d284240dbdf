import Foundation
import SQLite
import SystemTestKit
import Testing

struct SQLiteErrorTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func code(of body: () throws -> Void) -> SQLiteError.Code? {
        do { try body() } catch { return (error as? SQLiteError)?.code }
        return nil
    }

    @Test func `a file that is not a database is corrupt, and the error names it and the remedy`() throws {
        let path = directory.file("text.db")
        try Data(String(repeating: "not a database. ", count: 1000).utf8).write(to: URL(fileURLWithPath: path))
        do {
            _ = try SQLiteDatabase(path: path)
            Issue.record("opened")
        } catch {
            #expect(error.code == .corrupt)
            #expect(error.message.contains(path))
            #expect(error.message.contains("backup"))
        }
    }

    @Test func `a truncated database is corrupt`() throws {
        let path = directory.file("cut.db")
        let database = try SQLiteDatabase(path: path)
        try database.executeScript("CREATE TABLE t(v)")
        for _ in 1...200 { try database.execute("INSERT INTO t VALUES(randomblob(1000))") }
        try database.checkpoint(truncating: true)
        database.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 20_000)
        try file.close()
        let found = code {
            let database = try SQLiteDatabase(path: path)
            #expect(try !database.quickCheck().isEmpty)
            try database.query("SELECT v FROM t") { _ in }
        }
        #expect(found == .corrupt)
    }

    @Test func `a database in a missing directory cannot be opened`() {
        #expect(code { _ = try SQLiteDatabase(path: directory.file("no/such/a.db")) } == .cannotOpen)
    }

    @Test func `a read-only connection refuses a change`() throws {
        let path = directory.file("a.db")
        try SQLiteDatabase(path: path).executeScript("CREATE TABLE t(v)")
        let reader = try SQLiteDatabase(path: path, configuration: SQLiteConfiguration().readOnly)
        #expect(code { try reader.execute("INSERT INTO t VALUES(1)") } == .readOnly)
    }

    @Test func `a broken rule is a constraint error without the value`() throws {
        let database = try SQLiteDatabase(path: directory.file("a.db"))
        try database.executeScript("CREATE TABLE t(v TEXT UNIQUE)")
        try database.execute("INSERT INTO t VALUES(?)", ["secret"])
        do {
            try database.execute("INSERT INTO t VALUES(?)", ["secret"])
            Issue.record("inserted twice")
        } catch let error as SQLiteError {
            #expect(error.code == .constraint)
            #expect(!error.description.contains("secret"))
        }
    }

    @Test func `a lock held by another is busy after the timeout`() throws {
        var impatient = SQLiteConfiguration()
        impatient.busyTimeoutMilliseconds = 0
        let path = directory.file("a.db")
        let first = try SQLiteDatabase(path: path)
        let second = try SQLiteDatabase(path: path, configuration: impatient)
        try first.transaction {
            #expect(code { try second.execute("CREATE TABLE t(v)") } == .busy)
            #expect(SQLiteError.Code.busy.isTransient)
        }
    }

    @Test func `a database that may not grow is full, keeps its content, and continues`() throws {
        let database = try SQLiteDatabase(path: directory.file("a.db"))
        try database.executeScript("CREATE TABLE t(v); PRAGMA max_page_count=10")
        let found = code {
            try database.transaction { try database.execute("INSERT INTO t VALUES(zeroblob(100000))") }
        }
        #expect(found == .full)
        try database.execute("INSERT INTO t VALUES(1)")
        #expect(try database.first("SELECT count(*) FROM t") { $0.int(0) } == 1)
    }
}

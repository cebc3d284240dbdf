import Foundation
import SQLite
import SystemTestKit
import Testing

struct SQLiteMigrationTests {
    private struct Stop: Error {}

    private let directory: TemporaryDirectory
    private let database: SQLiteDatabase
    private let first = SQLiteMigration("tasks", sql: "CREATE TABLE task(id)")
    private let second = SQLiteMigration("titles", sql: "ALTER TABLE task ADD COLUMN title")

    init() throws {
        directory = try TemporaryDirectory()
        database = try SQLiteDatabase(path: directory.file("a.db"))
    }

    @Test func `steps run once each, and an upgrade leaves a copy of the old file`() throws {
        try database.migrate("tasks", [first])
        try database.migrate("tasks", [first])
        #expect(!FileManager.default.fileExists(atPath: database.path + ".before-tasks-2"))
        try database.migrate("tasks", [first, second])
        #expect(try database.schemaVersion("tasks") == 2)
        let copy = try SQLiteDatabase(path: database.path + ".before-tasks-2")
        #expect(try copy.schemaVersion("tasks") == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `an upgrade inside a transaction leaves a copy of the committed state, and is rolled back with it`() throws {
        try database.migrate("tasks", [first])
        try database.execute("INSERT INTO task VALUES ('milk')")
        func upgrade() throws {
            try database.execute("INSERT INTO task VALUES ('bread')")
            try database.migrate("tasks", [first, second])
        }
        #expect(throws: Stop.self) {
            try database.transaction {
                try upgrade()
                throw Stop()
            }
        }
        #expect(try database.schemaVersion("tasks") == 1)
        try database.transaction { try upgrade() }
        #expect(try database.schemaVersion("tasks") == 2)
        let copy = try SQLiteDatabase(path: database.path + ".before-tasks-2")
        #expect(try copy.schemaVersion("tasks") == 1)
        let tasks = try copy.first("SELECT group_concat(id) FROM task") { $0.text(0) }
        #expect(tasks == "milk")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a connection in a write transaction cannot copy its database`() throws {
        try database.migrate("tasks", [first])
        func copyWhileWriting() throws {
            try database.transaction {
                try database.execute("INSERT INTO task VALUES ('milk')")
                try database.backUp(to: directory.file("copy.db"))
            }
        }
        #expect { try copyWhileWriting() } throws: { ($0 as? SQLiteError)?.code == .misuse }
    }

    @Test func `components in one file do not know each other`() throws {
        try database.migrate("tasks", [first, second])
        try database.migrate("notes", [SQLiteMigration("notes", sql: "CREATE TABLE note(id)")])
        #expect(try database.schemaVersion("notes") == 1)
        #expect(try database.schemaVersion("tasks") == 2)
    }

    @Test func `a file from a newer program is refused and left alone`() throws {
        try database.migrate("tasks", [first, second])
        #expect { try database.migrate("tasks", [first]) } throws: { ($0 as? SQLiteError)?.code == .newerSchema }
        #expect(try database.schemaVersion("tasks") == 2)
    }

    @Test func `a step that fails is undone whole and can be tried again`() throws {
        let failing = SQLiteMigration("titles") { database in
            try database.executeScript("ALTER TABLE task ADD COLUMN title")
            throw Stop()
        }
        #expect(throws: Stop.self) { try database.migrate("tasks", [first, failing]) }
        #expect(try database.schemaVersion("tasks") == 1)
        try database.migrate("tasks", [first, second])
        #expect(try database.schemaVersion("tasks") == 2)
    }
}

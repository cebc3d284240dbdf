import Foundation
import SQLite
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

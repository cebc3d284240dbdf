import DocumentClient
import DocumentModel
import DocumentStore
import SQLite
import Simulation
import Testing

@testable import TaskSync

/// Rows of the state file that are not what was stored, with the files and the remote as they were.
@Suite(.serialized) struct DamageTests {
    private static let text = "---\ntags: [home]\n---\nprecious words\n"

    /// Flips a bit in each row of a table that has the text.
    private func damage(_ machine: Machine, _ table: String, _ column: String) throws {
        let database = try SQLiteDatabase(path: "\(machine.root)/replica.db")
        defer { database.close() }
        try database.execute(
            """
            UPDATE \(table) SET \(column)=CAST(replace(CAST(\(column) AS TEXT), 'precious', 'qrecious') AS BLOB)
            WHERE instr(\(column), CAST('precious' AS BLOB))
            """)
        #expect(database.changedRowCount == 1)
    }

    @Test(arguments: [("sync_file", "bytes"), ("client_document", "fields")])
    func `a flipped bit neither changes a file nor travels with the next edit`(table: String, column: String)
        async throws
    {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("A.md", Self.text)
        #expect(await before.has("A.md", Self.text))
        await before.stop()
        try damage(before, table, column)
        let desk = try await Machine(store, home: before.home, repairs: true)
        try desk.write("A.md", Self.text + "an edit\n")
        #expect(await laptop.has("A.md", Self.text + "an edit\n"))
        #expect(desk.read("A.md") == Self.text + "an edit\n")
        // An edit of a document that has not come again yet has no base: what the remote has is kept in the history.
        if table == "sync_file" { #expect(await desk.sync.openConflicts.isEmpty) }
        await desk.stop()
        await laptop.stop()
    }

    @Test func `what came from elsewhere while a damaged shadow was of no use is not taken back`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("A.md", Self.text)
        #expect(await before.has("A.md", Self.text))
        await before.stop()
        try damage(before, "sync_file", "bytes")
        try laptop.write("A.md", Self.text + "from the laptop\n")
        let count = laptop.commitCount
        #expect(await laptop.eventually { laptop.commitCount > count || laptop.read("A.md") != nil })
        let desk = try await Machine(store, home: before.home, repairs: true)
        #expect(await desk.has("A.md", Self.text + "from the laptop\n"))
        #expect(laptop.read("A.md") == Self.text + "from the laptop\n")
        await desk.stop()
        await laptop.stop()
    }

    @Test func `an edit whose unsent change is damaged is sent from the file`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("A.md", "---\ntags: [home]\n---\n")
        #expect(await before.has("A.md", "---\ntags: [home]\n---\n"))
        before.remote.cut(true)
        try before.write("A.md", Self.text)
        #expect(await before.eventually { await before.client.currentStatus.pendingCount > 0 })
        await before.stop()
        try damage(before, "client_mutation", "content")
        let desk = try await Machine(store, home: before.home, repairs: true)
        #expect(await laptop.has("A.md", Self.text))
        #expect(desk.read("A.md") == Self.text)
        await desk.stop()
        await laptop.stop()
    }
}

import DocumentModel
import FerryKitTestSupport
import FirestoreProtocol
import SQLite
import SystemTestKit
import Testing

@testable import DocumentClient

/// Rows of a replica's file that are damaged.
@Suite struct ReplicaRepairTests {
    private let remote = MemoryRemote()
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/state" }

    init() throws { directory = try TemporaryDirectory() }

    private func open(repairs: Bool = false) throws -> Replica {
        try Replica(
            database: try SQLiteDatabase(path: path), databaseName: testDatabase, replicaID: "r1", repairs: repairs)
    }

    /// Flips a bit in each text "precious" in a column.
    private func damage(_ table: String, _ column: String) throws {
        let database = try SQLiteDatabase(path: path)
        defer { database.close() }
        let sql = """
            UPDATE \(table) SET \(column)=CAST(replace(CAST(\(column) AS TEXT), 'precious', 'qrecious') AS BLOB)
            WHERE instr(\(column), CAST('precious' AS BLOB))
            """
        try database.execute(sql)
        #expect(database.changedRowCount == 1)
    }

    private func filled() throws -> Replica {
        let replica = try open()
        try replica.append([
            .create(try name("tasks/a"), ["notes": .string("precious")]),
            .create(try name("tasks/b"), ["notes": .string("other")]),
        ])
        try replica.drain(into: remote)
        let target = try replica.target(for: tasksQuery)
        _ = try replica.receive(boundary(target))
        return replica
    }

    private func boundary(_ target: RemoteTarget) throws -> Boundary {
        let items = remote.matching(target).map {
            Boundary.Item.changed(EncodedDocument($0), added: [target.id], removed: [])
        }
        return Boundary(
            items: [.reset([target.id])] + items + [.current([target.id])], readTime: remote.tick(), resumeToken: [1],
            targets: [target.id], isComplete: true)
    }

    private func field(_ key: String) throws -> FieldPath { FieldPath(key: key) }

    private func isDamage(_ error: any Error) -> Bool { (error as? SQLiteError)?.code == .damagedRow }

    @Test func `a damaged document is never returned, and awaited from the remote`() throws {
        try filled().database.close()
        try damage("client_document", "fields")
        let task = try name("tasks/a")
        var replica = try open()
        #expect { _ = try replica.snapshot(task) } throws: { isDamage($0) }
        #expect { _ = try replica.reader.results(of: QueryPlan(tasksQuery)) } throws: { isDamage($0) }
        #expect(try replica.snapshot(name("tasks/b")).exists)
        replica.database.close()

        replica = try open(repairs: true)
        #expect(replica.repaired == Repairs(documents: ["tasks/a"]))
        let awaited = try replica.snapshot(task)
        #expect(awaited.isAwaited && !awaited.exists)
        #expect(try !replica.snapshot(name("tasks/b")).isAwaited)
        let target = try replica.target(for: tasksQuery)
        #expect(target.resumeToken.isEmpty)
        let before = replica.file.latestNumber
        let outcome = try replica.receive(boundary(target))
        #expect(outcome.missing.isEmpty && outcome.unreported.isEmpty)
        let known = try replica.snapshot(task)
        #expect(!known.isAwaited && known["notes"] == .string("precious"))
        #expect(try replica.reader.changes(after: before, limit: 10).map(\.name) == [task])
        replica.database.close()
        #expect(try open(repairs: true).repaired.isEmpty)
    }

    @Test func `an edit of an awaited document is sent on top of the remote's version`() throws {
        try filled().database.close()
        try damage("client_document", "fields")
        let replica = try open(repairs: true)
        let task = try name("tasks/a")
        try replica.append([.merge(task, [try field("title"): .string("new")])])
        #expect(try replica.snapshot(task).isAwaited)
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["notes": .string("precious"), "title": .string("new")])
        #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
        #expect(try !replica.snapshot(task).isAwaited)
    }

    @Test func `a damaged change is never sent`() throws {
        let replica = try open()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["notes": .string("precious")])])
        try replica.append([.create(try name("tasks/b"), [:])])
        replica.database.close()
        try damage("client_mutation", "content")
        #expect { _ = try open() } throws: { isDamage($0) }
        let repaired = try open(repairs: true)
        #expect(repaired.repaired.mutations == ["tasks/a"])
        try repaired.drain(into: remote)
        #expect(Set(remote.documents.keys) == [try name("tasks/b")])
    }

    @Test func `a number that is damaged is not given out twice`() throws {
        let replica = try filled()
        let latest = replica.file.latestNumber
        replica.database.close()
        let database = try SQLiteDatabase(path: path)
        try database.execute("UPDATE client_state SET value=1 WHERE key='number'")
        database.close()
        #expect(try open().file.latestNumber >= latest)
    }
}

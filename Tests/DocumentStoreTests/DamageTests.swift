import DocumentModel
import FirestoreProtocol
import SQLite
import Synchronization
import Testing

@testable import DocumentStore

/// Tests of damaged rows.
struct DamageTests {
    private let temporary: TemporaryStore
    private let good: DocumentName
    private let bad: DocumentName

    init() throws {
        temporary = try TemporaryStore()
        good = try DocumentName(database: TemporaryStore.database, path: "tasks/good")
        bad = try DocumentName(database: TemporaryStore.database, path: "tasks/bad")
    }

    private func fill() async throws {
        let store = try await temporary.open()
        for name in [good, bad] {
            _ = try await store.commit([Write(.update(name, fields: ["title": .string("precious")]))])
        }
        await store.close()
    }

    private func flip(_ condition: String, in table: String = "document", bit: UInt8 = 1) throws {
        let sqlite = try SQLiteDatabase(path: temporary.path)
        defer { sqlite.close() }
        var found: (row: Int64, bytes: [UInt8])?
        try sqlite.query("SELECT rowid, fields FROM \(table) WHERE \(condition)") { found = ($0.int64(0), $0.bytes(1)) }
        var (row, bytes) = try #require(found)
        bytes[bytes.count - 1] ^= bit
        try sqlite.execute("UPDATE \(table) SET fields=? WHERE rowid=?", [.blob(bytes), .integer(row)])
    }

    private let isBad = "id=x'626164'"

    @Test func `a damaged document is not returned, and others are`() async throws {
        try await fill()
        try flip(isBad)
        let store = try await temporary.open()
        for work in [
            { _ = try await store.get(bad) },
            { _ = try await store.commit([Write(.update(bad, fields: [:]))]) },
        ] as [() async throws -> Void] {
            await #expect {
                try await work()
            } throws: { error in
                guard let error = error as? DocumentStoreError else { return false }
                return error.code == .dataLoss && error.description.contains("tasks/bad")
                    && error.description.contains("check")
            }
        }
        #expect(try await store.get(good)?.fields == EncodedFields(["title": .string("precious")]))
        _ = try await store.commit([Write(.update(good, fields: ["title": .string("new")]))])
        #expect(try await store.check() == ["tasks/bad is damaged"])
        await store.close()
        var left: [String] = []
        let damaged = try temporary.file.forEachDocument {
            left.append($0.name.path)
        }
        #expect(left == ["tasks/good"] && damaged == ["tasks/bad"])
    }

    @Test(arguments: [false, true])
    func `listeners receive all but the damaged document, which is not reported as deleted`(isResumed: Bool)
        async throws
    {
        var store = try await temporary.open()
        let start = try await store.commit([Write(.update(good, fields: ["title": .string("first")]))]).commitTime
        await store.close()
        try await fill()
        try flip(isBad)
        var configuration = SQLiteDocumentStore.Configuration()
        let told = Told()
        configuration.onDamage = { error in told.errors.withLock { $0.append("\(error)") } }
        store = try await temporary.open(configuration)
        let query = Query(parent: ParentName(TemporaryStore.database), collectionID: "tasks")
        let stream = store.listen()
        await stream.add(
            ListenTarget(id: 1, selection: .query(query), resumption: isResumed ? .readTime(start) : nil))
        var changed: [String] = []
        loop: while let events = try await stream.next() {
            for event in events {
                switch event {
                case .changed(let document, _, _): changed.append(document.name.path)
                case .deleted(let name, _, _), .left(let name, _, _): Issue.record("\(name) is told as gone")
                case .removed(_, let cause): Issue.record("\(String(describing: cause))")
                case .current: break loop
                default: break
                }
            }
        }
        #expect(changed == ["tasks/good"])
        #expect(told.errors.withLock { $0 }.allSatisfy { $0.contains("tasks/bad") })
        #expect(!told.errors.withLock { $0 }.isEmpty)
        await stream.cancel()
        await store.close()
    }

    private final class Told: Sendable {
        let errors = Mutex<[String]>([])
    }

    @Test func `a damaged row of the log keeps no store from opening, and hides no present version`() async throws {
        try await fill()
        var store = try await temporary.open()
        let start = try #require(try await store.get(bad)).updateTime
        _ = try await store.commit([Write(.update(bad, fields: ["title": .string("later")]))])
        await store.close()
        try flip("\(isBad) AND update_time IS NOT NULL", in: "change")
        let sqlite = try SQLiteDatabase(path: temporary.path)
        // As after a crash, the index is built from the log.
        try sqlite.execute("UPDATE setting SET value=0 WHERE name='indexed'")
        sqlite.close()
        store = try await temporary.open()
        #expect(try await store.get(bad)?.fields == EncodedFields(["title": .string("later")]))
        #expect(try await store.check() == ["tasks/bad is damaged in the log of changes"])
        let tables = DocumentTables(try SQLiteDatabase(path: temporary.path), name: TemporaryStore.database)
        let records = try ChangeLog(snapshot: tables).commits(
            after: start.microseconds, through: .max, limit: 10, isWanted: { _ in true }
        ).records
        #expect(records.flatMap(\.changes).map(\.name) == [bad])
        #expect(records.first?.changes.first?.after?.fields == ["title": .string("later")])
        await store.close()
    }

    @Test func `a database without checksums gets them, and rows that cannot be decoded count as damaged`() async throws
    {
        try await fill()
        let sqlite = try SQLiteDatabase(path: temporary.path)
        try sqlite.executeScript(
            """
            UPDATE document SET fields=x'FFFFFF' WHERE \(isBad);
            ALTER TABLE document DROP COLUMN sum;
            ALTER TABLE change DROP COLUMN sum;
            DROP TABLE received;
            DROP TABLE usage;
            DROP TABLE inherited;
            DELETE FROM schema_migration WHERE component='documents' AND version>4;
            """)
        sqlite.close()
        let store = try await temporary.open()
        #expect(try await store.get(good)?.fields == EncodedFields(["title": .string("precious")]))
        #expect(try await store.check() == ["tasks/bad is damaged"])
        await store.close()
    }
}

import DocumentModel
import FerryKitTestSupport
import FirestoreProtocol
import SQLite
import SystemTestKit
import Testing

@testable import DocumentClient

@Suite struct ScaleTests {
    static func fields(_ number: Int) -> [String: Value] {
        [
            "title": .string("Task number \(number)"), "completed": .boolean(number % 3 == 0), "userId": .string("u"),
            "priority": .integer(Int64(number % 3)), "tags": .array([.string("errands"), .string("home")]),
            "notes": .string("Some words about the task that fill a line or two.\n- [ ] one\n- [x] two\n"),
            "createdTime": .timestamp(Timestamp(microseconds: 1_700_000_000_000_000)),
            "updatedTime": .timestamp(Timestamp(microseconds: 1_700_000_000_000_000)),
        ]
    }

    @Test func `ten thousand remote documents are applied in one short transaction`() throws {
        let directory = try TemporaryDirectory()
        let replica = try Replica(
            database: try SQLiteDatabase(path: directory.path + "/state"), databaseName: testDatabase, replicaID: "r")
        let target = try replica.target(for: tasksQuery)
        let time = Timestamp(microseconds: 1_700_000_000_000_000)
        var items: [Boundary.Item] = [.reset([target.id])]
        for number in 0..<10_000 {
            let document = Document(
                name: try name("tasks/\(number)"), fields: Self.fields(number), createTime: time, updateTime: time)
            items.append(.changed(EncodedDocument(document), added: [target.id], removed: []))
        }
        items += [.count(target: target.id, 10_000), .current([target.id])]
        let boundary = Boundary(items: items, readTime: time, resumeToken: [1], targets: [target.id])
        let clock = ContinuousClock()
        let duration = try clock.measure {
            let outcome = try replica.receive(boundary)
            #expect(outcome.mismatched.isEmpty && outcome.missing.isEmpty)
        }
        #expect(duration < .seconds(5), "The bar of one second is for a release build on a quiet machine.")
        let count = try replica.reader.results(of: QueryPlan(tasksQuery)).count
        #expect(count == 10_000)
    }

    @Test func `many local documents are journalled at once and sent in full commits`() throws {
        let directory = try TemporaryDirectory()
        let remote = MemoryRemote()
        let replica = try Replica(
            database: try SQLiteDatabase(path: directory.path + "/state"), databaseName: testDatabase, replicaID: "r")
        try replica.append((0..<2000).map { .create(try name("tasks/\($0)"), Self.fields($0)) })
        try replica.drain(into: remote)
        #expect(remote.documents.count == 2000)
        #expect(remote.commitCount < 10)
    }
}

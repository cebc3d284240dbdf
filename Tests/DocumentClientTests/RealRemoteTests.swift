import DocumentModel
import FerryKitTestSupport
import Foundation
import Testing

@testable import DocumentClient

/// Tests with the server in `FERRY_TEST_ENDPOINT` (`ferry-server --emulator`, or Google's
/// emulator); skipped without it.
@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment["FERRY_TEST_ENDPOINT"] != nil,
        "FERRY_TEST_ENDPOINT names no server to test against"),
    .timeLimit(.minutes(1)))
struct RealRemoteTests {
    let database = DatabaseName(project: "client-test-\(DocumentID.make().lowercased())")

    func makeClient() throws -> DocumentDatabase {
        let endpoint = ProcessInfo.processInfo.environment["FERRY_TEST_ENDPOINT"] ?? ""
        let remote = FirestoreRemote.Configuration(
            endpoint: endpoint, database: database, security: .plaintext, token: { _ in "owner" })
        return try DocumentDatabase.open(path: ":memory:", remote: remote)
    }

    @Test func `two clients meet over gRPC`() async throws {
        let (one, two) = (try makeClient(), try makeClient())
        let query = Query(parent: ParentName(database), collectionID: "tasks")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await one.run() }
            group.addTask { try await two.run() }
            try await one.keep([query])
            var snapshots = two.snapshots(of: query).makeAsyncIterator()
            while try #require(try await snapshots.next()).isFromCache {}
            let clock = ContinuousClock()
            let task = try await one.add(
                ["n": .integer(0), "tags": .array([])], to: "tasks",
                transforms: [FieldTransform(FieldPath(key: "made"), .serverTimestamp)])
            while try #require(try await snapshots.next()).documents.isEmpty {}
            var latencies: [Duration] = []
            for number in 1...50 {
                let start = clock.now
                try await one.merge(task, [FieldPath(key: "n"): .integer(Int64(number))])
                while try #require(try await snapshots.next()).documents.first?["n"] != .integer(Int64(number)) {}
                latencies.append(clock.now - start)
            }
            print("median:", latencies.sorted()[25], "worst:", latencies.max() ?? .zero)
            try await one.write([
                .update(
                    task, [:],
                    transforms: [
                        FieldTransform(FieldPath(key: "n"), .increment(.integer(5))),
                        FieldTransform(FieldPath(key: "tags"), .appendMissingElements([.string("x")])),
                    ])
            ])
            try await one.waitForPendingWrites()
            while try #require(try await snapshots.next()).documents.first?["n"] != .integer(55) {}
            let here = try await one.document(task)
            let there = try await two.document(task)
            #expect(here.fields == there.fields && here.updateTime == there.updateTime)
            // Ten thousand documents, in both directions.
            let start = clock.now
            try await one.write(
                (0..<10_000).map {
                    .create(
                        try DocumentName(database: database, path: "tasks/t\($0)"), ScaleTests.fields($0))
                })
            try await one.waitForPendingWrites()
            print("10,000 sent:", clock.now - start)
            while try #require(try await snapshots.next()).documents.count < 10_001 {}
            print("10,000 there:", clock.now - start)
            try await one.delete(task)
            while try #require(try await snapshots.next()).documents.contains(where: { $0.name == task }) {}
            group.cancelAll()
        }
    }
}

import DocumentModel
import DocumentStore
import FirestoreProtocol
import Foundation
import Testing

/// Tests that kill a process during its commits and check what it has left.
struct CrashTests {
    private static let directoryVariable = "FERRY_CRASH_TEST_DIRECTORY"
    private static var childDirectory: String? { ProcessInfo.processInfo.environment[directoryVariable] }

    private static func writes(_ client: Int, _ number: Int) throws -> [Write] {
        let fields: [String: Value] = ["client": .integer(Int64(client)), "number": .integer(Int64(number))]
        let counter = try DocumentName(database: TemporaryStore.database, path: "last/\(client)")
        let created = try ["left", "right"].map { side in
            let name = try DocumentName(database: TemporaryStore.database, path: "\(side)/\(client)-\(number)")
            return Write(.update(name, fields: fields), precondition: .exists(false))
        }
        return created + [Write(.update(counter, fields: fields))]
    }

    /// The process that is killed: it commits forever and reports each acknowledged commit on a
    /// pipe.
    @Test(.enabled(if: CrashTests.childDirectory != nil))
    func `child that commits until it is killed`() async throws {
        let directory = try #require(Self.childDirectory)
        var configuration = SQLiteDocumentStore.Configuration()
        // The process is killed while entries are being moved into the index.
        configuration.indexBatch = 100
        let store = try await SQLiteDocumentStore(
            TemporaryStore.database, path: directory + "/documents.db", configuration: configuration)
        let report = try FileHandle(forWritingTo: URL(fileURLWithPath: directory + "/acknowledged"))
        try await withThrowingTaskGroup { group in
            for client in 0..<8 {
                group.addTask {
                    for number in 0..<1_000_000 {
                        _ = try await store.commit(try Self.writes(client, number))
                        try report.write(contentsOf: Data("\(client)-\(number)\n".utf8))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(.enabled(if: CrashTests.childDirectory == nil), arguments: [20, 300])
    func `acknowledged commits survive kill -9, complete and consistent`(count: Int) async throws {
        let temporary = try TemporaryStore()
        let pipe = temporary.directory + "/acknowledged"
        #expect(mkfifo(pipe, 0o600) == 0)
        let child = Process()
        child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        child.arguments = ["--testing-library", "swift-testing", "--filter", "CrashTests"]
        child.environment = ProcessInfo.processInfo.environment.merging([Self.directoryVariable: temporary.directory]) {
            $1
        }
        child.standardOutput = FileHandle.nullDevice
        child.standardError = FileHandle.nullDevice
        try child.run()
        var acknowledged: [String] = []
        // Blocks this thread until the child has opened its end.
        let report = try FileHandle(forReadingFrom: URL(fileURLWithPath: pipe))
        var text = Data()
        while acknowledged.count < count {
            let more = report.availableData
            try #require(!more.isEmpty, "the child ended by itself")
            text += more
            acknowledged = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
            // The last line may be incomplete.
            if text.last != UInt8(ascii: "\n") { acknowledged.removeLast() }
        }
        kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()

        let store = try await temporary.open()
        #expect(try await store.check() == [])
        var found: [String: Set<String>] = [:]
        for side in ["left", "right"] {
            let query = Query(parent: ParentName(TemporaryStore.database), collectionID: side)
            for try await document in try await store.query(query).documents {
                found[side, default: []].insert(document.name.id)
            }
        }
        #expect(found["left"] == found["right"], "a commit is half there")
        let lost = acknowledged.filter { found["left"]?.contains($0) != true }
        #expect(lost == [], "of \(acknowledged.count) acknowledged commits")
        // The counter of each client is that of its last commit, acknowledged or not.
        let last = Query(parent: ParentName(TemporaryStore.database), collectionID: "last")
        for try await document in try await store.query(last).documents {
            let number = try document.fields.decoded()["number"]?.integerValue ?? -1
            let numbers = found["left", default: []].filter { $0.hasPrefix("\(document.name.id)-") }
            #expect(numbers.count == Int(number) + 1, "client \(document.name.id)")
        }
        await store.close()
    }
}

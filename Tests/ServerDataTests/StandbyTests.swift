import BucketStore
import Cryptography
import DocumentModel
import DocumentStore
import HTTPMessages
import HTTPServer
import HTTPTestKit
import JSON
import Synchronization
import SystemIO
import SystemTestKit
import Testing

@testable import ServerData

/// The answers that a test puts in place of the server's.
private final class Answers: Sendable {
    private let replacement = Mutex<@Sendable (HTTPServerRequest) -> HTTPResponse?>({ _ in nil })

    func replace(_ answer: @escaping @Sendable (HTTPServerRequest) -> HTTPResponse?) {
        replacement.withLock { $0 = answer }
    }

    func answer(_ request: HTTPServerRequest) -> HTTPResponse? { replacement.withLock { $0 }(request) }
}

/// A server's data, and a standby that copies it over loopback.
private final class Pair: Sendable {
    private let directory: TemporaryDirectory
    let source: DataLayout
    let copy: DataLayout
    let documents: SQLiteDocumentStore
    private let buckets: DirectoryBucketStore
    private let server: HTTPServer
    let answers = Answers()
    let url: String
    let keyID: String

    init() async throws {
        directory = try TemporaryDirectory()
        source = DataLayout(path: "\(directory.path)/server")
        copy = DataLayout(path: "\(directory.path)/standby")
        for part in ["server/documents", "server/accounts", "standby"] {
            try FileSystem.makeDirectories("\(directory.path)/\(part)", mode: 0o700)
        }
        documents = try await SQLiteDocumentStore(
            DatabaseName(project: "ferry"), path: "\(source.path)/\(DataLayout.documents)")
        buckets = try DirectoryBucketStore(directory: source.objects)
        _ = try await buckets.createBucket(DataLayout.bucket, now: 1)
        try FileSystem.replace("\(source.path)/\(DataLayout.signingKeys)", with: Array("keys".utf8))
        let (answers, standby) = (answers, StandbySource(layout: source, buckets: buckets, onPull: { _ in }))
        server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { request in
            if let response = answers.answer(request) { return response }
            return await standby.respond(to: request) ?? HTTPResponse(.notFound)
        }
        url = "http://\(try server.start())"
        let key = try StandbyKeys(source).add(label: "test")
        keyID = try #require(key["id"]?.stringValue)
        try FileSystem.replace("\(directory.path)/key.json", with: key.bytes)
    }

    func close() async {
        await server.stop(within: .zero)
        await documents.close()
        await buckets.close()
    }

    func standby() throws -> StandbyCopy {
        try StandbyCopy(copy, from: StandbyClient(url: url, key: "\(directory.path)/key.json", authorities: nil))
    }

    /// Stores objects in segments.
    func put(_ range: Range<Int>) async throws {
        for number in range {
            let bytes = Array("object \(number)".utf8)
            let file = try await buckets.keep(bytes[...], SHA256.hash(bytes))
            let record = ObjectRecord(
                key: "k\(number)", file: file, size: Int64(bytes.count), etag: "", modified: 1, contentType: "",
                headers: [:])
            await buckets.discard(try await buckets.index.write { try $0.put(record, in: DataLayout.bucket) })
        }
    }

    func write(_ number: Int) async throws {
        let name = try DocumentName(database: documents.database, path: "tasks/\(number)")
        _ = try await documents.commit([Write(.update(name, fields: [:]))])
    }

    /// Returns the number of objects that the copy's index has, and of those that the copy has.
    func objects() throws -> (known: Int, intact: Int) {
        var (known, intact) = (0, 0)
        try DataLayout.forEachFile(in: "\(copy.path)/\(DataLayout.index)") { file, size, _, _ in
            known += 1
            guard let place = ObjectPlace(file), case .segment(let span) = place,
                (try? StoredObject(place, in: copy.objects).size) == size
            else { return }
            if try SegmentPiece.read(span, in: copy) == SegmentPiece.read(span, in: source) { intact += 1 }
        }
        return (known, intact)
    }

    /// Promotes the copy, and returns the number of tasks in it.
    func promotedTasks() async throws -> Int {
        _ = try StandbyCopy.promote(copy, now: 0)
        let store = try await SQLiteDocumentStore(
            documents.database, path: "\(copy.path)/\(DataLayout.documents)")
        let names = try (0..<10).map { try DocumentName(database: documents.database, path: "tasks/\($0)") }
        let found = try await store.get(names, at: .strong).documents.compactMap { $0 }.count
        await store.close()
        return found
    }
}

struct StandbyTests {
    @Test func `the objects of a segment that arrive together are all kept`() async throws {
        let pair = try await Pair()
        try await pair.put(0..<300)
        let standby = try pair.standby()
        #expect(try await standby.pull().objects == 300)
        #expect(try pair.objects() == (300, 300))
        // Nothing has changed, or only a little.
        #expect(try await standby.pull().objects == 0)
        try await pair.put(300..<301)
        #expect(try await standby.pull().objects == 1)
        #expect(try pair.objects() == (301, 301))
        await pair.close()
    }

    @Test func `an object that the server lacks does not stop copies, and one that it lacked for a moment is copied`()
        async throws
    {
        let pair = try await Pair()
        try await pair.put(0..<3)
        let refusals = Mutex(1)
        pair.answers.replace { request in
            guard request.target.path.hasSuffix("/object") else { return nil }
            return refusals.withLock { count in
                count -= 1
                return count >= 0 ? HTTPResponse(.notFound) : nil
            }
        }
        _ = try await pair.standby().pull()
        #expect(try pair.objects() == (3, 3))
        try await pair.put(3..<5)
        pair.answers.replace { $0.target.path.hasSuffix("/object") ? HTTPResponse(.notFound) : nil }
        _ = try await pair.standby().pull()
        #expect(try pair.objects() == (5, 3))
        await pair.close()
    }

    @Test func `objects that were being written when the power failed are copied again`() async throws {
        let pair = try await Pair()
        try await pair.put(0..<2)
        let standby = try pair.standby()
        _ = try await standby.pull()
        // The second object has a head and zeros, as after a power cut.
        var files: [String] = []
        let index = "\(pair.copy.path)/\(DataLayout.index)"
        try DataLayout.forEachFile(in: index) { file, _, _, _ in files.append(file) }
        let place = files.last.flatMap { ObjectPlace($0) }
        guard case .segment(let span)? = place else { throw SystemError(.notFound, operation: "find", path: index) }
        let path = "\(pair.copy.objects)/\(ObjectPlace.segment(span).path)"
        try FileDescriptor(path: path, [.readWrite]).write(
            [UInt8](repeating: 0, count: Int(span.size)), at: span.offset + Int64(EntryFormat.headSize))
        try FileSystem.replace("\(pair.copy.path)/standby.unsure", with: Array(files.joined(separator: "\n").utf8))
        #expect(try pair.objects() == (2, 1))
        try await pair.put(2..<3)
        #expect(try await standby.pull().objects == 3)
        #expect(try pair.objects() == (3, 3))
        #expect(!FileSystem.exists("\(pair.copy.path)/standby.unsure"))
        await pair.close()
    }

    @Test func `a pull that fails leaves the last copy, which is promoted`() async throws {
        let pair = try await Pair()
        try await pair.write(0)
        try await pair.put(0..<1)
        _ = try await pair.standby().pull()
        try await pair.write(1)
        try await pair.put(1..<2)
        pair.answers.replace { $0.target.path.hasSuffix("/object") ? HTTPResponse(.internalServerError) : nil }
        let standby = try pair.standby()
        await #expect(throws: ServerError.self) { _ = try await standby.pull() }
        #expect(FileSystem.exists("\(pair.copy.path)/\(DataLayout.documents).ready"))
        #expect(try await pair.promotedTasks() == 1)
        #expect(try pair.objects() == (1, 1))
        #expect(
            try Directory(path: "\(pair.copy.path)/documents").entries().allSatisfy { $0.name.hasPrefix("main.db") })
        #expect(!FileSystem.exists("\(pair.copy.path)/\(DataLayout.documents).ready"))
        await pair.close()
    }

    @Test func `a pull that was complete is applied when it is promoted, new databases included`() async throws {
        let pair = try await Pair()
        try await pair.write(0)
        let standby = try pair.standby()
        _ = try await standby.pull()
        // As if the standby had ended after the state was written, and before the database was there.
        let path = "\(pair.copy.path)/\(DataLayout.documents)"
        let writer = try FileDeltaWriter(try FileDescriptor(path: path, .read), known: [])
        var delta: [UInt8] = []
        while let piece = try writer.next() { delta += piece }
        try FileSystem.replace(path + ".ready", with: delta)
        try FileSystem.remove(path)
        var state = try #require(try StandbyState(in: pair.copy))
        state.ready = [DataLayout.documents]
        try state.write(in: pair.copy)
        #expect(try await pair.promotedTasks() == 1)
        await pair.close()
    }

    @Test(arguments: [Int64.min, -1, Int64.max, 0])
    func `a server whose clock cannot be right is refused`(time: Int64) async throws {
        let pair = try await Pair()
        let json: JSON = ["time": .integer(time), "databases": []]
        pair.answers.replace { _ in HTTPResponse(body: .bytes(json.bytes)) }
        let standby = try pair.standby()
        let error = await #expect(throws: ServerError.self) { _ = try await standby.pull() }
        #expect(error?.message.contains("clocks") == true)
        await pair.close()
    }

    @Test(arguments: [Int64.max, -1, StandbyState.leadLimit + 1])
    func `a state with a lead that cannot be is refused`(lead: Int64) throws {
        let directory = try TemporaryDirectory()
        let layout = DataLayout(path: directory.path)
        var state = StandbyState(source: "http://127.0.0.1:1")
        (state.asOf, state.lead) = (1, lead)
        try state.write(in: layout)
        let error = #expect(throws: ServerError.self) { _ = try StandbyCopy.promote(layout, now: 0) }
        #expect(error?.code == .damaged)
    }

    @Test func `a removed key ends copies at once`() async throws {
        let pair = try await Pair()
        let standby = try pair.standby()
        _ = try await standby.pull()
        let keys = StandbyKeys(pair.source)
        #expect(try keys.list().map(\.label) == ["test"])
        #expect(try keys.remove("../accounts") == false)
        #expect(try keys.remove(pair.keyID))
        let error = await #expect(throws: ServerError.self) { _ = try await standby.pull() }
        #expect(error?.message.contains("does not accept the key") == true)
        await pair.close()
    }

    @Test func `only a key's own secret is accepted`() throws {
        let directory = try TemporaryDirectory()
        try FileSystem.makeDirectories("\(directory.path)/accounts")
        let keys = StandbyKeys(DataLayout(path: directory.path))
        let (first, second) = (try keys.add(label: "a"), try keys.add(label: "b"))
        let header = try #require(StandbyKeys.authorization(first))
        #expect(try keys.key(authorizedBy: header)?.label == "a")
        let other = try #require(second["id"]?.stringValue)
        let secret = try #require(first["secret"]?.stringValue)
        for wrong in [nil, "", "Bearer", "Bearer \(secret)", "Bearer \(other).\(secret)", "Bearer owner", header + "x"]
        {
            #expect(try keys.key(authorizedBy: wrong) == nil)
        }
    }

    @Test func `a server that accepts connections and is silent may be there`() async throws {
        let listener = try RawListener()
        #expect(await StandbyClient.presence(String(listener.url.dropLast()), within: .seconds(1)) == .silent)
        let pair = try await Pair()
        #expect(await StandbyClient.presence(pair.url) == .answering)
        await pair.close()
        #expect(await StandbyClient.presence(pair.url) == .absent)
    }
}

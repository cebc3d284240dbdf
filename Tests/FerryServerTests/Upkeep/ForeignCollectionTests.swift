import DocumentModel
import DocumentStore
import ObjectStorage
import PostgreSQL
import PostgresStore
import PostgresTestKit
import ServerData
import Synchronization
import SystemIO
import SystemTestKit
import Testing

@testable import FerryServer

/// Documents in a data directory or in PostgreSQL, objects in another store, and a clock that the test
/// advances.
private final class Ground: Sendable {
    static let day: Int64 = 24 * 3600
    let directory: TemporaryDirectory
    let documents: any OpenDocumentStore
    /// The database of the documents; nil if they are in the data directory.
    let server: PostgresConfiguration?
    let database = DatabaseName(project: "ferry")
    let store: MemoryObjectStore
    private let clock: Clock

    private final class Clock: Sendable {
        let seconds = Mutex<Int64>(100_000 * 24 * 3600)

        var now: Int64 { seconds.withLock { $0 } }
    }

    init(inPostgres: Bool = false) async throws {
        let clock = Clock()
        self.clock = clock
        store = MemoryObjectStore { clock.now }
        directory = try TemporaryDirectory()
        if inPostgres {
            let server = PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase())
            self.server = server
            documents = try await PostgresDocumentStore(database, server)
            return
        }
        server = nil
        try FileSystem.makeDirectories("\(directory.path)/documents", mode: 0o700)
        documents = try await SQLiteDocumentStore(database, path: "\(directory.path)/documents/main.db")
    }

    func advance(days: Int64) { clock.seconds.withLock { $0 += days * Self.day } }

    /// Stores a file of one chunk for each text, like an upload.
    func upload(_ texts: [String], of user: String = "alice") async throws -> Manifest {
        let namespace = try ObjectNamespace(user: user)
        var references: [ChunkReference] = []
        for text in texts {
            let chunk = Array(text.utf8)
            let object = try ChunkCodec.encode(chunk, type: .octetStream, policy: .off)
            let id = ContentHash(ofChunk: chunk[...])
            try await store.put(namespace.chunk(id), object)
            references.append(ChunkReference(id: id, length: chunk.count, storedLength: object.count))
        }
        let manifest = Manifest(sha256: ContentHash(of: Array(texts.joined().utf8)), chunks: references)
        try await store.put(namespace.manifest(manifest.id), manifest.bytes)
        return manifest
    }

    func attach(_ manifest: Manifest?, to task: String, of user: String = "alice") async throws {
        let namespace = try ObjectNamespace(user: user)
        var fields: [String: Value] = ["userId": .string(user)]
        if let manifest {
            fields["attachments"] = .map(["a": .map(["manifest": .string(namespace.manifest(manifest.id).text)])])
        }
        _ = try await documents.commit([
            Write(.update(try DocumentName(database: database, path: "tasks/\(task)"), fields: fields))
        ])
    }

    var collection: ForeignCollection {
        var collection = ForeignCollection(
            layout: DataLayout(path: directory.path), store: store, now: { [clock] in clock.now }, graceDays: 30)
        if let server { collection.use(database, server) }
        return collection
    }

    func collect() async throws -> CollectionReport { try await collection.run(changes: true) }

    func has(_ manifest: Manifest, of user: String = "alice") async throws -> Bool {
        let namespace = try ObjectNamespace(user: user)
        var keys = manifest.chunks.map { namespace.chunk($0.id) }
        keys.append(namespace.manifest(manifest.id))
        for key in keys where try await store.head(key) == nil { return false }
        return true
    }
}

struct ForeignCollectionTests {
    @Test(arguments: [false, true])
    func `objects that documents need stay, and others are removed after the grace period`(inPostgres: Bool)
        async throws
    {
        let ground = try await Ground(inPostgres: inPostgres)
        let needed = try await ground.upload(["one", "shared"])
        let unused = try await ground.upload(["two", "shared"])
        try await ground.store.put(try ObjectKey("something/else"), [1])
        try await ground.attach(needed, to: "t1")
        ground.advance(days: 2)
        #expect(try await ground.collect().removed.objects == 0)
        ground.advance(days: 30)
        let told = try await ground.collection.run(changes: false)
        #expect(told.removed.objects == 2 && told.needed.objects == 3 && told.problems.isEmpty, "\(told)")
        #expect(try await ground.has(unused))
        #expect(try await ground.collect().removed == told.removed)
        #expect(try await ground.has(needed))
        // One of the two was shared. The list of objects marked for deletion stays.
        #expect(ground.store.count == 5)
        #expect(try await ground.collect().removed.objects == 0)
        await ground.documents.close()
    }

    @Test(arguments: [false, true])
    func `objects of users without documents here are left unchanged`(inPostgres: Bool) async throws {
        let ground = try await Ground(inPostgres: inPostgres)
        try await ground.attach(nil, to: "t1")
        let other = try await ground.upload(["one"], of: "bob")
        for _ in 0..<3 {
            ground.advance(days: 40)
            let report = try await ground.collect()
            #expect(report.removed.objects == 0 && report.problems.count == 1)
        }
        #expect(try await ground.has(other, of: "bob"))
        await ground.documents.close()
    }

    @Test func `one of the servers on a database collects at a time`() async throws {
        let ground = try await Ground(inPostgres: true)
        let unused = try await ground.upload(["one"])
        try await ground.attach(nil, to: "t1")
        ground.advance(days: 2)
        #expect(try await ground.collect().unused.objects == 2)
        ground.advance(days: 40)
        let server = try #require(ground.server)
        let report = try await PostgresLease("collection of objects", server).run { _ in try await ground.collect() }
        #expect(report?.unused.objects == 0 && report?.removed.objects == 0)
        #expect(try await ground.has(unused))
        #expect(try await ground.collect().removed.objects == 2)
        await ground.documents.close()
    }

    @Test func `if a manifest cannot be read, the objects of its user stay, and those of others do not`() async throws {
        let ground = try await Ground()
        let (manifest, unused) = (try await ground.upload(["one"]), try await ground.upload(["two"]))
        let others = try await ground.upload(["three"], of: "bob")
        try await ground.attach(manifest, to: "t1")
        try await ground.attach(nil, to: "t2", of: "bob")
        try await ground.store.put(try ObjectNamespace(user: "alice").manifest(manifest.id), [1])
        for _ in 0..<3 {
            ground.advance(days: 40)
            let report = try await ground.collect()
            #expect(report.problems.count == 1 && report.problems[0].contains("differs from what was stored"))
        }
        #expect(try await ground.has(unused))
        #expect(try await ground.has(others, of: "bob") == false)
        await ground.documents.close()
    }

    @Test func `missing objects are reported`() async throws {
        let ground = try await Ground()
        let (first, second) = (try await ground.upload(["one"]), try await ground.upload(["two"]))
        try await ground.attach(first, to: "t1")
        try await ground.attach(second, to: "t2")
        let namespace = try ObjectNamespace(user: "alice")
        try await ground.store.delete(namespace.manifest(first.id))
        try await ground.store.delete(namespace.chunk(second.chunks[0].id))
        let problems = try await ground.collect().problems
        #expect(problems.count == 2 && problems.allSatisfy { $0.contains("is missing") }, "\(problems)")
        await ground.documents.close()
    }

    @Test func `only one collection runs at a time`() async throws {
        let ground = try await Ground()
        let lock = try FileLock.acquire("\(ground.directory.path)/collection.lock")
        await #expect(throws: ServerError.self) { try await ground.collect() }
        extendLifetime(lock)
        await ground.documents.close()
    }
}

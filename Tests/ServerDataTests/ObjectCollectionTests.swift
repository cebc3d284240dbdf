import BucketStore
import Cryptography
import DocumentModel
import DocumentStore
import ObjectStorage
import SQLite
import SystemIO
import SystemTestKit
import Testing

@testable import ServerData

/// A data directory with documents and objects, and a clock that the test advances.
private final class Ground {
    let directory: TemporaryDirectory
    let buckets: DirectoryBucketStore
    let documents: SQLiteDocumentStore
    let database: DatabaseName
    static let day: Int64 = 24 * 3600 * 1_000_000
    private var puts = 0
    /// The time in microseconds.
    var now: Int64 = 1_000_000 * Ground.day

    init() async throws {
        directory = try TemporaryDirectory()
        try FileSystem.makeDirectories("\(directory.path)/documents", mode: 0o700)
        database = DatabaseName(project: "ferry")
        documents = try await SQLiteDocumentStore(database, path: "\(directory.path)/documents/main.db")
        buckets = try DirectoryBucketStore(directory: "\(directory.path)/objects")
        _ = try await buckets.createBucket(DataLayout.bucket, now: now)
    }

    func close() async {
        await documents.close()
        await buckets.close()
    }

    /// Stores an object, every other one in a segment.
    func put(_ key: ObjectKey, _ bytes: [UInt8]) async throws {
        puts += 1
        let file: String
        if puts % 2 == 0 {
            file = try await buckets.keep(bytes[...], SHA256.hash(bytes))
        } else {
            var incoming = try buckets.makeIncoming([])
            try incoming.append(bytes)
            file = try buckets.keep(&incoming)
        }
        let record = ObjectRecord(
            key: key.text, file: file, size: Int64(bytes.count), etag: "", modified: now,
            contentType: "", headers: [:])
        await buckets.discard(try await buckets.index.write { try $0.put(record, in: DataLayout.bucket) })
    }

    /// Stores a file of one chunk for each text, like an upload.
    func upload(_ texts: [String], of user: String = "alice") async throws -> Manifest {
        let namespace = try ObjectNamespace(user: user)
        var references: [ChunkReference] = []
        for text in texts {
            let chunk = Array(text.utf8)
            let object = try ChunkCodec.encode(chunk, type: .octetStream, policy: .off)
            let id = ContentHash(ofChunk: chunk[...])
            try await put(namespace.chunk(id), object)
            references.append(ChunkReference(id: id, length: chunk.count, storedLength: object.count))
        }
        let manifest = Manifest(sha256: ContentHash(of: Array(texts.joined().utf8)), chunks: references)
        try await put(namespace.manifest(manifest.id), manifest.bytes)
        return manifest
    }

    func attach(_ manifest: Manifest?, to task: String, of user: String = "alice") async throws {
        let namespace = try ObjectNamespace(user: user)
        try await attach(key: manifest.map { namespace.manifest($0.id) }, to: task, of: user)
    }

    func attach(key: ObjectKey?, to task: String, of user: String = "alice") async throws {
        var fields: [String: Value] = ["userId": .string(user)]
        if let key = key?.text {
            fields["attachments"] = .map(["a": .map(["manifest": .string(key)])])
        }
        _ = try await documents.commit([
            Write(.update(try DocumentName(database: database, path: "tasks/\(task)"), fields: fields))
        ])
    }

    func collect() throws -> CollectionReport {
        try ObjectCollection(layout: DataLayout(path: directory.path), now: now, grace: 30 * Self.day).run(
            changes: true)
    }

    func keys() async throws -> [String] {
        let listing = try await buckets.index.read {
            try $0.list(DataLayout.bucket, prefix: "", delimiter: nil, after: "", limit: 1000)
        }
        return listing.entries.compactMap { if case .object(let object) = $0 { object.key } else { nil } }
    }

    func isStored(_ key: ObjectKey) async throws -> Bool {
        let record = try await buckets.index.read { try $0.object(DataLayout.bucket, key.text) }
        guard let record else { return false }
        return buckets.holds(record)
    }

    /// Returns the number of objects on the disk, each of at most one block.
    func objects() async throws -> Int {
        try await buckets.discardReleased()
        var count = try files
        for entry in try Directory(path: "\(directory.path)/objects/segments").entries() {
            let bytes = try FileSystem.read("\(directory.path)/objects/segments/\(entry.name)")
            for start in stride(from: 0, to: bytes.count, by: Int(EntryFormat.block))
            where EntryFormat.head(Array(bytes[start...].prefix(EntryFormat.headSize))) != nil { count += 1 }
        }
        return count
    }

    private var files: Int {
        get throws {
            try (0..<256).reduce(0) { count, shard in
                let name = String(shard + 256, radix: 16).dropFirst()
                return count + (try Directory(path: "\(directory.path)/objects/files/\(name)").entries().count)
            }
        }
    }
}

struct ObjectCollectionTests {
    private let alice: ObjectNamespace

    init() throws { alice = try ObjectNamespace(user: "alice") }

    @Test func `unused objects are marked for deletion and then removed, and others stay`() async throws {
        let ground = try await Ground()
        let kept = try await ground.upload(["shared", "mine"])
        let lost = try await ground.upload(["shared", "other"])
        try await ground.attach(kept, to: "t1")
        // The objects are young: an upload may be about to refer to them.
        #expect(try ground.collect().unused.objects == 2)
        #expect(try await ground.keys().count == 5)

        ground.now += 2 * Ground.day
        var report = try ground.collect()
        #expect(report.needed.objects == 3)
        #expect(report.unused.objects == 2)
        #expect(report.problems.isEmpty)
        // Objects marked for deletion are not listed, but can still be read by their keys.
        #expect(try await ground.keys().count == 3)
        #expect(try await ground.isStored(alice.manifest(lost.id)))

        ground.now += 29 * Ground.day
        #expect(try ground.collect().removed.objects == 0)
        ground.now += 2 * Ground.day
        report = try ground.collect()
        #expect(report.removed.objects == 2)
        #expect(try await ground.objects() == 3)
        for chunk in kept.chunks { #expect(try await ground.isStored(alice.chunk(chunk.id))) }
        #expect(try await ground.isStored(alice.manifest(kept.id)))
        ground.now += 100 * Ground.day
        report = try ground.collect()
        #expect(report.removed.objects == 0 && report.unused.objects == 0)
        await ground.close()
    }

    @Test func `a late reference unmarks an object`() async throws {
        let ground = try await Ground()
        try await ground.attach(nil, to: "t1")
        let manifest = try await ground.upload(["one", "two"])
        ground.now += 2 * Ground.day
        _ = try ground.collect()
        #expect(try await ground.keys().isEmpty)
        try await ground.attach(manifest, to: "t1")
        ground.now += 40 * Ground.day
        let report = try ground.collect()
        #expect(report.removed.objects == 0)
        #expect(report.needed.objects == 3)
        #expect(try await ground.keys().count == 3)
        await ground.close()
    }

    @Test func `an object that is uploaded again while marked stays as long as a new one`() async throws {
        let ground = try await Ground()
        try await ground.attach(nil, to: "t1")
        let manifest = try await ground.upload(["one"])
        ground.now += 2 * Ground.day
        _ = try ground.collect()
        ground.now += 31 * Ground.day
        _ = try await ground.upload(["one"])
        #expect(try ground.collect().removed.objects == 0)
        #expect(try await ground.isStored(alice.manifest(manifest.id)))
        #expect(try await ground.keys().count == 2)
        await ground.close()
    }

    @Test func `a manifest that is moved while it is read is found`() async throws {
        let ground = try await Ground()
        let manifest = try await ground.upload(["one"])
        try await ground.attach(manifest, to: "a")
        let key = alice.manifest(manifest.id).text
        let before = try #require(try await ground.buckets.index.read { try $0.object(DataLayout.bucket, key) })
        let after = try await ground.buckets.keep(manifest.bytes[...], SHA256.hash(manifest.bytes))
        let layout = DataLayout(path: ground.directory.path)
        let index = try SQLiteDatabase(path: "\(layout.path)/\(DataLayout.index)")
        var isMoved = false
        let collection = ObjectCollection(
            layout: layout, now: ground.now, grace: 30 * Ground.day,
            isCancelled: {
                // The record was read already, but not its bytes.
                isMoved = true
                try? index.execute("UPDATE object SET file = ? WHERE key = ?", [.text(after), .text(key)])
                return false
            })
        // The old place is empty now.
        guard case .segment(let place)? = ObjectPlace(before.file) else {
            throw SystemError(.other, operation: "parse")
        }
        try FileDescriptor(path: "\(layout.objects)/segments/\(place.number)", .readWrite)
            .write([UInt8](repeating: 0, count: EntryFormat.headSize), at: place.offset)
        #expect(try collection.run(changes: true).problems == [])
        #expect(isMoved)
        // The check does not report places that records no longer refer to.
        let check = DataCheck(layout: layout, readsObjects: true)
        #expect(try check.present([(before.file, "gone"), (after, "damaged")]) == ["damaged"])
        index.close()
        await ground.close()
    }

    @Test func `if the needed objects are unknown, nothing is changed`() async throws {
        let ground = try await Ground()
        // Bob's documents are in another place, one of Alice's manifests is damaged, and the other
        // keys are not Ferry's.
        _ = try await ground.upload(["b"], of: "bob")
        let damaged = try await ground.upload(["one"])
        _ = try await ground.upload(["two"])
        try await ground.attach(damaged, to: "t1")
        try await ground.put(alice.manifest(damaged.id), Array("{}".utf8))
        try await ground.put(try ObjectKey("alice/chunks/mine"), [1])
        ground.now += 2 * Ground.day
        _ = try ground.collect()
        ground.now += 31 * Ground.day
        let report = try ground.collect()
        #expect(report.removed.objects == 0)
        #expect(try await ground.keys().count == 7)
        #expect(report.problems.contains { $0.contains("bob") })
        #expect(report.problems.contains { $0.contains("is damaged") })
        await ground.close()
    }

    @Test func `a chunk that a document references directly is needed`() async throws {
        let ground = try await Ground()
        let manifest = try await ground.upload(["named", "lost"])
        let (named, lost) = (manifest.chunks[0].id, manifest.chunks[1].id)
        try await ground.attach(key: alice.chunk(named), to: "t1")
        let missing = ContentHash(of: [1])
        try await ground.attach(key: alice.chunk(missing), to: "t2")
        for _ in 0..<3 {
            ground.now += 31 * Ground.day
            let problems = try ground.collect().problems
            #expect(problems == ["the chunk \(missing) is missing, and documents refer to it"])
        }
        #expect(try await ground.isStored(alice.chunk(named)))
        #expect(try await !ground.isStored(alice.chunk(lost)))
        #expect(try await ground.objects() == 1)
        await ground.close()
    }

    @Test func `missing objects are reported`() async throws {
        let ground = try await Ground()
        let manifest = try await ground.upload(["one", "two"])
        try await ground.attach(manifest, to: "t1")
        let gone = try #require(manifest.chunks.first).id
        await ground.buckets.discard(
            try await ground.buckets.index.write { [key = alice.chunk(gone).text] database in
                try database.execute("DELETE FROM object WHERE key = ?", [.text(key)])
                return []
            })
        let elsewhere = Manifest(sha256: ContentHash(of: [1]), chunks: [])
        try await ground.attach(elsewhere, to: "t2")
        let report = try ground.collect()
        #expect(report.problems.contains { $0.contains("the chunk \(gone)") })
        #expect(report.problems.contains { $0.contains("the manifest \(elsewhere.id)") })
        await ground.close()
    }

    @Test func `an unfinished multipart upload is aborted after a week`() async throws {
        let ground = try await Ground()
        for (id, created) in [("old", ground.now), ("new", ground.now + 5 * Ground.day)] {
            var incoming = try ground.buckets.makeIncoming([])
            try incoming.append([1, 2, 3])
            let file = try ground.buckets.keep(&incoming)
            _ = try await ground.buckets.index.write { database in
                try database.execute(
                    "INSERT INTO upload(id, bucket, key, created, type, headers) VALUES (?, 'ferry', 'k', ?, '', '{}')",
                    [.text(id), .integer(created)])
                try database.execute(
                    "INSERT INTO part VALUES (?, 1, ?, 3, '', ?, NULL)", [.text(id), .text(file), .integer(created)])
                return []
            }
        }
        ground.now += 8 * Ground.day
        #expect(try ground.collect().expiredUploads == 1)
        #expect(try await ground.objects() == 1)
        #expect(try ground.collect().expiredUploads == 0)
        await ground.close()
    }

    @Test func `references are found in any field`() {
        let hash = ContentHash(of: [1])
        let text = "x/manifests/\(hash.hex.prefix(2))/\(hash.hex)/manifests/ab/short alice/manifests/00/\(hash.hex)"
        let mark = ObjectReferences.manifestMark
        #expect(ObjectReferences.hashes(behind: mark, in: Array(text.utf8)) == [hash, hash])
        #expect(ObjectReferences.hashes(behind: mark, in: Array("/manifests/".utf8)).isEmpty)
        #expect(ObjectReferences.hashes(behind: ObjectReferences.chunkMark, in: Array(text.utf8)).isEmpty)
    }

    @Test func `a cancelled collection stops, and the next one does the rest`() async throws {
        let ground = try await Ground()
        try await ground.attach(nil, to: "t1")
        let manifest = try await ground.upload(["one", "two"])
        ground.now += 2 * Ground.day
        _ = try ground.collect()
        ground.now += 31 * Ground.day
        var collection = ObjectCollection(
            layout: DataLayout(path: ground.directory.path), now: ground.now, grace: 30 * Ground.day)
        for patience in 0..<2 {
            var asked = 0
            collection.isCancelled = {
                asked += 1
                return asked > patience
            }
            #expect(throws: CancellationError.self) { try collection.run(changes: true) }
            #expect(try await ground.isStored(alice.manifest(manifest.id)))
        }
        #expect(try ground.collect().removed.objects == 3)
        #expect(try await ground.objects() == 0)
        await ground.close()
    }
}

import Synchronization
import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

/// Tests of files of one chunk without a manifest, as the daemon stores them.
@Suite struct OnlyChunkTests {
    private let memory = MemoryObjectStore()
    private let namespace: ObjectNamespace
    private let directory: TemporaryDirectory

    init() throws {
        namespace = try ObjectNamespace(user: "alice")
        directory = try TemporaryDirectory()
    }

    private func uploaded(
        _ content: [UInt8], to store: (any ObjectStore)? = nil, inventory: ChunkInventory? = nil
    ) async throws -> UploadedFile {
        var options = UploadOptions()
        (options.compression, options.inventory, options.namesOnlyChunk) = (.level(1), inventory, true)
        let task = UploadTask(
            File(name: "f", bytes: content), to: store ?? memory, namespace: namespace, options: options,
            environment: .system)
        task.start()
        return try await task.outcome
    }

    private func downloaded(
        _ content: ContentReference, size: ExpectedSize = .atMost(Manifest.fileLimit), sha256: ContentHash? = nil
    ) async throws -> DownloadedFile {
        let task = DownloadTask(
            content, to: directory.path + "/got", from: memory, namespace: namespace,
            options: DownloadOptions { ($0.size, $0.sha256) = (size, sha256) }, environment: .system)
        task.start()
        return try await task.outcome
    }

    private func code(
        _ content: ContentReference, size: ExpectedSize = .atMost(Manifest.fileLimit), sha256: ContentHash? = nil
    ) async -> ObjectStorageError.Code? {
        do {
            _ = try await downloaded(content, size: size, sha256: sha256)
            return nil
        } catch {
            return (error as? ObjectStorageError)?.code
        }
    }

    @Test(arguments: [1000, 3 << 20])
    func `a file gets the requested time and mode`(count: Int) async throws {
        let up = try await uploaded(Noise.bytes(count))
        let time = FileTime(seconds: -1, nanoseconds: 123_456_000)
        let task = DownloadTask(
            up.content, to: directory.path + "/got", from: memory, namespace: namespace,
            options: DownloadOptions {
                ($0.size, $0.modified, $0.isExecutable) = (.exactly(Int64(count)), time, true)
            }, environment: .system)
        task.start()
        _ = try await task.outcome
        let status = try FileDescriptor(path: directory.path + "/got", .read).status()
        #expect(status.modified == time)
        #expect(status.mode == 0o700)
        #expect(try File(path: directory.path + "/got").isExecutable)
    }

    @Test(arguments: [-1, 0, 10, 999, 300_000, 4 << 20, 5 << 20, .max])
    func `content of another size than was declared is refused before anything of it is written`(
        size: Int64
    ) async throws {
        let contents = [
            Noise.bytes(1000), [UInt8](repeating: 7, count: 400_000), [UInt8](repeating: 7, count: 9 << 20),
        ]
        for content in contents {
            let up = try await uploaded(content)
            #expect(await code(up.content, size: .exactly(size)) == .corrupt)
            if size < Int64(content.count) {
                #expect(await code(up.content, size: .atMost(size)) != nil)
                #expect(try Directory(path: directory.path).entries().isEmpty)
            } else {
                #expect(await code(up.content, size: .atMost(size)) == nil)
            }
            #expect(try await downloaded(up.content, size: .exactly(Int64(content.count))).size == content.count)
            #expect(try directory.read("got") == content)
            try FileSystem.remove(directory.path + "/got")
        }
    }

    @Test func `a manifest of another size is refused, and one of more chunks than there can be is not read`()
        async throws
    {
        // 128 times one chunk where 5 bytes are declared; and the declared number of bytes in far
        // too many chunks.
        for (count, length, declared) in [(128, 16 << 20, Int64(5)), (100_000, 1, 100_000)] {
            let chunk = ChunkReference(id: ContentHash(of: [1]), length: length, storedLength: 17)
            let manifest = Manifest(sha256: ContentHash(of: []), chunks: Array(repeating: chunk, count: count))
            try await memory.put(namespace.manifest(manifest.id), manifest.bytes)
            let store = GatedObjectStore(memory)
            let task = DownloadTask(
                .manifest(manifest.id), to: directory.path + "/got", from: store, namespace: namespace,
                options: DownloadOptions { $0.size = .exactly(declared) }, environment: .system)
            task.start()
            let error = await #expect(throws: ObjectStorageError.self) { try await task.outcome }
            #expect(error?.code == .corrupt)
            #expect(task.snapshot.bytesOnWire == (count == 128 ? Int64(manifest.bytes.count) : 0))
            #expect(try Directory(path: directory.path).entries().isEmpty)
        }
    }

    @Test(arguments: [0, 1, 256 << 10, (256 << 10) + 1, 700 << 20, 640 << 30])
    func `every manifest of a file of some size is within the limit for that size`(size: Int64) {
        let minimum = ChunkSizes.standard.minimum
        let count = min(Int(size) / minimum, 100_000)
        let id = ContentHash(of: [])
        var chunks = Array(repeating: ChunkReference(id: id, length: minimum, storedLength: minimum + 16), count: count)
        let rest = min(Int(size), count * minimum) == Int(size) ? Int(size) % minimum : 0
        if rest > 0 { chunks.append(ChunkReference(id: id, length: rest, storedLength: rest + 16)) }
        let manifest = Manifest(sha256: id, chunks: chunks)
        #expect(manifest.bytes.count <= ExpectedSize.exactly(manifest.size).manifestLimit)
        #expect(ExpectedSize.exactly(size).manifestLimit <= Manifest.byteLimit)
    }

    @Test func `a small chunk that is longer than its manifest says is damaged`() async throws {
        let content = Noise.bytes(1000)
        let chunk = ContentHash(ofChunk: content[...])
        let manifest = Manifest(
            sha256: ContentHash(of: content), chunks: [ChunkReference(id: chunk, length: 1000, storedLength: 1016)])
        try await memory.put(namespace.manifest(ContentHash(of: manifest.bytes)), manifest.bytes)
        try await memory.put(namespace.chunk(chunk), try ChunkCodec.encode(Noise.bytes(2000), type: .octetStream))
        #expect(await code(.manifest(ContentHash(of: manifest.bytes))) == .corrupt)
    }

    @Test(arguments: [1, 1000, 100_000])
    func `a file of one chunk costs one put and one get`(count: Int) async throws {
        for content in [Noise.bytes(count), [UInt8](repeating: 7, count: count)] {
            let store = GatedObjectStore(memory)
            let up = try await uploaded(content, to: store)
            let key = namespace.chunk(ContentHash(ofChunk: content[...]))
            #expect(store.counts.putKeys == [key.text])
            #expect(up.content.key(in: namespace) == key)
            #expect(ContentReference(key: key.text) == up.content)
            let down = try await downloaded(up.content)
            #expect(down.sha256 == ContentHash(of: content))
            #expect(down.size == Int64(count))
            #expect(try directory.read("got") == content)
        }
    }

    @Test(arguments: [0, 3 << 20])
    func `of none or of more there is a manifest`(count: Int) async throws {
        let content = Noise.bytes(count)
        let up = try await uploaded(content)
        #expect(up.content == .manifest(up.manifest))
        #expect(ContentReference(key: up.content.key(in: namespace).text) == up.content)
        #expect(try await downloaded(up.content).size == Int64(count))
        #expect(try directory.read("got") == content)
    }

    @Test(arguments: ["flipped", "cut", "other", "html", "bomb"])
    func `a wrong chunk is never accepted`(damage: String) async throws {
        let up = try await uploaded(Noise.bytes(50_000))
        let key = up.content.key(in: namespace)
        var object = try await memory.read(key, limit: 1 << 20)
        switch damage {
        case "flipped": object[1000] ^= 4
        case "cut": object.removeLast(10)
        case "other": object = try ChunkCodec.encode(Noise.bytes(50_000, seed: 2), type: .octetStream)
        case "html": object = Array("<html>Please sign in</html>".utf8)
        default: object = try ChunkCodec.encode([UInt8](repeating: 0, count: 8 << 20), type: .plain)
        }
        try await memory.put(key, object)
        #expect(await code(up.content) == .corrupt)
        #expect(!directory.names().contains("got"))
        try await memory.delete(key)
        #expect(await code(up.content) == .notFound)
    }

    @Test(arguments: [50_000, 3 << 20])
    func `a file with another size or hash than expected is never accepted`(count: Int) async throws {
        let content = Noise.bytes(count)
        let up = try await uploaded(content)
        #expect(await code(up.content, sha256: ContentHash(of: [1])) == .corrupt)
        #expect(!directory.names().contains("got"))
        #expect(try await downloaded(up.content, sha256: up.sha256).sha256 == ContentHash(of: content))
        #expect(try directory.read("got") == content)
    }

    @Test func `for many files the store is listed, and existing chunks are not sent again`() async throws {
        let old = (0..<20).map { Noise.bytes(500, seed: UInt64($0)) }
        for content in old { _ = try await uploaded(content) }
        let store = GatedObjectStore(memory)
        let inventory = ChunkInventory(store: store, namespace: namespace, environment: .system)
        let new = (100..<180).map { Noise.bytes(500, seed: UInt64($0)) }
        for content in new + old + new { _ = try await uploaded(content, to: store, inventory: inventory) }
        #expect(store.counts.puts == new.count)
        #expect(store.counts.heads < 40, "\(store.counts.heads) questions")
    }

    @Test func `a listing is trusted for half a minute`() async throws {
        let time = Mutex(Duration.zero)
        var environment = Environment.system
        environment.now = { time.withLock { $0 } }
        let store = GatedObjectStore(memory)
        let inventory = ChunkInventory(store: store, namespace: namespace, environment: environment)
        let content = Noise.bytes(500)
        let chunk = ContentHash(ofChunk: content[...])
        for _ in 0..<100 { #expect(try await inventory.size(of: chunk) == nil) }
        let asked = store.counts.heads
        _ = try await uploaded(content)
        // Puts of other devices are not known at once; that costs a put.
        #expect(try await inventory.size(of: chunk) == nil)
        #expect(store.counts.heads == asked)
        time.withLock { $0 = .seconds(31) }
        #expect(try await inventory.size(of: chunk) == 516)
    }
}

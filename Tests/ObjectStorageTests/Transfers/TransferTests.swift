import Glibc
import HTTPClient
import HTTPMessages
import Synchronization
import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

@Suite struct TransferTests {
    private let memory = MemoryObjectStore()
    private let namespace: ObjectNamespace
    private let directory: TemporaryDirectory

    init() throws {
        namespace = try ObjectNamespace(user: "alice")
        directory = try TemporaryDirectory()
    }

    private func uploaded(_ file: File, to store: (any ObjectStore)? = nil) async throws -> UploadedFile {
        let task = UploadTask(file, to: store ?? memory, namespace: namespace, sizes: .small)
        task.start()
        return try await task.outcome
    }

    private func download(_ manifest: ContentHash, from store: (any ObjectStore)? = nil) -> DownloadTask {
        DownloadTask(manifest, to: directory.path + "/got", from: store ?? memory, namespace: namespace)
    }

    private func code(_ body: () async throws -> Void) async -> ObjectStorageError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ObjectStorageError)?.code
        }
    }

    @Test(arguments: [0, 1, 1000, 4687, 78_125])
    func `an uploaded file is downloaded unchanged`(count: Int) async throws {
        let content = Noise.bytes(count, seed: 5)
        let up = try await uploaded(File(name: "f.bin", bytes: content))
        #expect(up.size == Int64(count))
        #expect(up.sha256 == ContentHash(of: content))
        #expect(up.chunkCount == Chunker.lengths(of: content, sizes: .small).count)
        let task = download(up.manifest)
        task.start()
        let down = try await task.outcome
        #expect(down.sha256 == up.sha256)
        #expect(try directory.read("got") == content)
        #expect(directory.names() == ["got"])
    }

    @Test func `a file, a stream and bytes of one content have one manifest, and only the first is sent`() async throws
    {
        let content = Noise.bytes(46_875, seed: 8)
        let path = try directory.file("source.dat", content)
        let store = GatedObjectStore(memory)
        let first = try await uploaded(File(path: path), to: store)
        let puts = store.counts.puts
        let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
            for start in stride(from: 0, to: content.count, by: 1009) {
                continuation.yield(Array(content[start..<min(start + 1009, content.count)]))
            }
            continuation.finish()
        }
        let second = try await uploaded(File(name: "s", stream: parts), to: store)
        let third = try await uploaded(File(name: "b", bytes: content), to: store)
        #expect(first.manifest == second.manifest && second.manifest == third.manifest)
        #expect(store.counts.puts == puts)
    }

    @Test(.timeLimit(.minutes(1)))
    func `an unrequested cancellation ends a transfer as a failure`() async throws {
        let store = try S3ObjectStore(
            S3Configuration(endpoint: "http://127.0.0.1:9", bucket: "ferry", region: "us-east-1"),
            credentials: { throw CancellationError() }, client: HTTPClient())
        #expect(
            await code { _ = try await uploaded(File(name: "f", bytes: Noise.bytes(1000)), to: store) } == .unavailable)
    }

    @Test func `the manifest is put last, once every chunk is there`() async throws {
        let store = GatedObjectStore(memory)
        let up = try await uploaded(File(name: "f", bytes: Noise.bytes(93_750)), to: store)
        #expect(store.counts.putKeys.last == namespace.manifest(up.manifest).text)
        #expect(store.counts.putKeys.dropLast().allSatisfy { $0.hasPrefix("alice/chunks/") })
    }

    @Test func `for a large file the store is listed once`() async throws {
        let content = Noise.bytes(700_000)
        let first = try await uploaded(File(name: "f", bytes: content))
        let store = GatedObjectStore(memory)
        let edited = content[..<350_000] + [1, 2, 3] + content[350_000...]
        let second = try await uploaded(File(name: "f", bytes: Array(edited)), to: store)
        #expect(second.manifest != first.manifest)
        // The manifest is not looked up either, because it lists a chunk that was missing.
        #expect(store.counts.heads == 0)
        #expect((2...6).contains(store.counts.puts), "\(store.counts.puts) puts for three bytes")
    }

    @Test func `a task that is cancelled waits no longer, and the transfer continues`() async throws {
        let store = GatedObjectStore(memory)
        store.close(after: 0)
        let task = UploadTask(
            File(name: "f", bytes: Noise.bytes(2000)), to: store, namespace: namespace, sizes: .small)
        task.start()
        await store.waitForHeld()
        let waiting = Task { try await task.outcome }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(task.snapshot.state == .running)
        store.open()
        #expect(try await task.outcome.size == 2000)
    }

    @Test func `snapshots end with the final one and never go back`() async throws {
        let task = UploadTask(
            File(name: "f", bytes: Noise.bytes(62_500)), to: memory, namespace: namespace, sizes: .small)
        let stream = task.snapshots
        task.start()
        var last: TransferSnapshot?
        for await snapshot in stream {
            #expect(snapshot.bytesDone >= last?.bytesDone ?? 0)
            last = snapshot
        }
        #expect(last?.state == .done)
        #expect(last?.bytesDone == 62_500)
        #expect(last?.bytesTotal == 62_500)
        #expect(last?.fraction == 1)
        #expect((last?.bytesOnWire ?? 0) > 62_500)
        var late: [TransferState] = []
        for await snapshot in task.snapshots { late.append(snapshot.state) }
        #expect(late == [.done])
    }

    @Test(.timeLimit(.minutes(1))) func `an observer that is cancelled between snapshots does not block the transfer`()
        async
    {
        let task = UploadTask(File(name: "f", bytes: [1]), to: memory, namespace: namespace, sizes: .small)
        task.pause()
        let showing = Task.detached {
            while !Task.isCancelled { task.pause() }
        }
        for _ in 0..<2000 {
            let watching = Task { for await _ in task.snapshots {} }
            await Task.yield()
            watching.cancel()
            await watching.value
        }
        showing.cancel()
        await showing.value
    }

    @Test func `a transfer keeps to its own limit, until that is taken away`() async throws {
        let content = Noise.bytes(46_875)
        let waited = Mutex(Duration.zero)
        let environment = Environment.still { wait in waited.withLock { $0 += wait } }
        let file = File(name: "f", bytes: content)
        let up = UploadTask(file, to: memory, namespace: namespace, sizes: .small, environment: environment)
        up.limit(bytesPerSecond: 1000)
        up.start()
        let uploaded = try await up.outcome
        // The time of the bucket stands still, so each part waits for all previous parts.
        #expect(waited.withLock { $0 } > .seconds(46))

        waited.withLock { $0 = .zero }
        let down = DownloadTask(
            .manifest(uploaded.manifest), to: directory.path + "/got", from: memory, namespace: namespace,
            options: DownloadOptions { $0.isSynced = false }, environment: environment)
        down.limit(bytesPerSecond: 1000)
        down.limit(bytesPerSecond: nil)
        down.start()
        _ = try await down.outcome
        #expect(waited.withLock { $0 } == .zero)
    }

    @Test func `a pause stops the traffic, and a resume sends only the chunks in flight again`() async throws {
        let content = Noise.bytes(187_500)
        let store = GatedObjectStore(memory)
        store.close(after: 5)
        let task = UploadTask(File(name: "f", bytes: content), to: store, namespace: namespace, sizes: .small)
        let states = task.snapshots
        task.start()
        await store.waitForHeld()
        task.pause()
        for await snapshot in states where snapshot.state == .paused { break }
        let puts = store.counts.puts
        #expect(puts == 5)
        store.open()
        #expect(task.snapshot.state == .paused)
        #expect(store.counts.puts == puts)
        task.resume()
        let up = try await task.outcome
        #expect(store.counts.puts == up.chunkCount + 1)
        #expect(task.snapshot.bytesDeduplicated == 0)
    }

    @Test func `pausing and resuming in any order ends well`() async throws {
        let task = UploadTask(
            File(name: "f", bytes: Noise.bytes(93_750)), to: GatedObjectStore(memory), namespace: namespace,
            sizes: .small)
        task.pause()
        #expect(task.snapshot.state == .paused)
        task.resume()
        for _ in 0..<20 {
            task.pause()
            task.resume()
            await Task.yield()
        }
        _ = try await task.outcome
        #expect(task.snapshot.state == .done)
        task.cancel()
        task.pause()
        #expect(task.snapshot.state == .done)
    }

    @Test func `a cancelled upload ends with that, and publishes nothing`() async throws {
        let store = GatedObjectStore(memory)
        store.close(after: 2)
        let task = UploadTask(
            File(name: "f", bytes: Noise.bytes(125_000)), to: store, namespace: namespace, sizes: .small)
        task.start()
        await store.waitForHeld()
        task.cancel()
        #expect(await code { _ = try await task.outcome } == .cancelled)
        #expect(task.snapshot.state == .cancelled)
        let manifests = try await memory.list(prefix: namespace.manifestPrefix, after: nil, limit: 10)
        #expect(manifests.objects.isEmpty)
    }

    @Test func `a cancelled download leaves no file behind`() async throws {
        let up = try await uploaded(File(name: "f", bytes: Noise.bytes(125_000)))
        let store = GatedObjectStore(memory)
        store.close(after: 3)
        let task = download(up.manifest, from: store)
        task.start()
        await store.waitForHeld()
        task.cancel()
        #expect(await code { _ = try await task.outcome } == .cancelled)
        #expect(directory.names().isEmpty)
    }

    @Test func `a download continues the partial file of an earlier one, after verifying it`() async throws {
        let content = Noise.bytes(125_000)
        let up = try await uploaded(File(name: "f", bytes: content))
        let store = GatedObjectStore(memory)
        store.close(after: 5)
        let partial = directory.path + "/partial"
        var task: DownloadTask? = DownloadTask(
            up.manifest, to: directory.path + "/got", from: store, namespace: namespace, partial: partial)
        let states = try #require(task).snapshots
        task?.start()
        await store.waitForHeld()
        task?.pause()
        for await snapshot in states where snapshot.state == .paused { break }
        task = nil
        // One byte of the partial file is damaged meanwhile.
        var damaged = try directory.read("partial")
        let first = try #require(damaged.firstIndex { $0 != 0 })
        damaged[first] ^= 1
        _ = try directory.file("partial", damaged)
        store.open()
        let before = store.counts.gets
        let again = DownloadTask(
            up.manifest, to: directory.path + "/got", from: store, namespace: namespace, partial: partial)
        again.start()
        _ = try await again.outcome
        #expect(try directory.read("got") == content)
        // The manifest, the chunks in flight and the damaged chunk are fetched; the rest is in the
        // partial file.
        #expect(store.counts.gets - before < up.chunkCount)
        #expect(directory.names() == ["got"])
    }

    @Test func `a source that changes while it is read is not published`() async throws {
        for change in ["append", "touch", "replace", "remove", "truncate"] {
            let path = try directory.restingFile("f", Noise.bytes(125_000))
            let store = GatedObjectStore(MemoryObjectStore())
            store.close(after: 1)
            let task = UploadTask(try File(path: path), to: store, namespace: namespace, sizes: .small)
            task.start()
            await store.waitForHeld()
            switch change {
            case "append":
                let file = fopen(path, "a")
                fputs("more", file)
                fclose(file)
            case "touch": utimes(path, nil)
            case "replace": rename(try directory.file("new", Noise.bytes(125_000)), path)
            case "truncate": truncate(path, 62_500)
            default: unlink(path)
            }
            store.open()
            #expect(await code { _ = try await task.outcome } == .sourceChanged, "\(change)")
            #expect(store.counts.putKeys.allSatisfy { $0.hasPrefix("alice/chunks/") }, "\(change)")
        }
    }

    @Test func `a file with an unexpected hash is not published`() async throws {
        var file = File(name: "f", bytes: [1, 2, 3])
        file.sha256 = ContentHash(of: [1, 2, 4])
        #expect(await code { _ = try await uploaded(file) } == .corrupt)
        #expect(await code { _ = try File(path: directory.path) } == .invalid)
        #expect(await code { _ = try File(path: directory.path + "/absent") } == .notFound)
    }

    @Test(arguments: ["flipped", "cut", "other", "html", "bomb"])
    func `a damaged chunk is named and never becomes a file`(damage: String) async throws {
        let content = Noise.bytes(46_875)
        let up = try await uploaded(File(name: "f", bytes: content))
        let page = try await memory.list(prefix: namespace.chunkPrefix, after: nil, limit: 10)
        let key = try #require(page.objects.first?.key)
        var object = try await memory.read(key, limit: 8 << 20)
        switch damage {
        case "flipped": object[1000] ^= 4
        case "cut": object.removeLast(10)
        case "other":
            object = try ChunkCodec.encode([UInt8](repeating: 7, count: object.count - 16), type: .plain, policy: .off)
        case "html": object = Array("<html>Please sign in</html>".utf8)
        default: object = try ChunkCodec.encode([UInt8](repeating: 0, count: 4 << 20), type: .plain)
        }
        try await memory.put(key, object)
        let task = download(up.manifest)
        task.start()
        #expect(await code { _ = try await task.outcome } == .corrupt)
        #expect(task.snapshot.state == .failed)
        #expect(task.snapshot.problem?.message.contains("chunk") == true)
        #expect(!directory.names().contains("got"))
    }

    @Test func `a chunk that was damaged on the way is fetched again`() async throws {
        let content = Noise.bytes(31_250)
        let up = try await uploaded(File(name: "f", bytes: content))
        let task = download(up.manifest, from: GarblingObjectStore(memory))
        task.start()
        _ = try await task.outcome
        #expect(try directory.read("got") == content)
    }

    @Test func `the error of a missing object names it`() async throws {
        let up = try await uploaded(File(name: "f", bytes: Noise.bytes(31_250)))
        let page = try await memory.list(prefix: namespace.chunkPrefix, after: nil, limit: 10)
        try await memory.delete(try #require(page.objects.last?.key))
        let first = download(up.manifest)
        first.start()
        #expect(await code { _ = try await first.outcome } == .notFound)
        let second = download(ContentHash(of: [9, 9]))
        second.start()
        #expect(await code { _ = try await second.outcome } == .notFound)
        #expect(second.snapshot.problem?.message.contains("manifest") == true)
    }

    @Test func `a manifest that is truncated in the store is corrupt`() async throws {
        let up = try await uploaded(File(name: "f", bytes: [1, 2, 3]))
        let key = namespace.manifest(up.manifest)
        let bytes = try await memory.read(key, limit: 1 << 20)
        try await memory.put(key, Array(bytes.dropLast(5)))
        let task = download(up.manifest)
        task.start()
        #expect(await code { _ = try await task.outcome } == .corrupt)
    }

    @Test func `the owner may put the finished file in its place, or refuse`() async throws {
        let up = try await uploaded(File(name: "f", bytes: [1, 2, 3]))
        let refusing = DownloadTask(up.manifest, to: directory.path + "/got", from: memory, namespace: namespace) { _ in
            throw ObjectStorageError(.permission, "the folder is gone")
        }
        refusing.start()
        #expect(await code { _ = try await refusing.outcome } == .permission)
        let destination = directory.path + "/elsewhere"
        let placing = DownloadTask(up.manifest, to: directory.path + "/got", from: memory, namespace: namespace) {
            rename($0, destination)
        }
        placing.start()
        _ = try await placing.outcome
        #expect(try directory.read("elsewhere") == [1, 2, 3])
    }

    @Test func `compressible content is sent compressed and round-trips`() async throws {
        let content = Array(String(repeating: "the quick brown fox\n", count: 5000).utf8)
        // A fixed level, because which level is best with a network as fast as memory is another
        // question.
        let task = UploadTask(
            File(name: "f.txt", bytes: content), to: memory, namespace: namespace, compression: .level(6), sizes: .small
        )
        task.start()
        let up = try await task.outcome
        #expect(task.snapshot.bytesOnWire < Int64(content.count / 20))
        #expect(task.snapshot.bytesDone == Int64(content.count))
        let down = download(up.manifest)
        down.start()
        _ = try await down.outcome
        #expect(try directory.read("got") == content)
    }
}

/// A store that flips a bit in the first read of each key.
private final class GarblingObjectStore: ObjectStore {
    private let store: any ObjectStore
    private let seen = Mutex<Set<ObjectKey>>([])

    init(_ store: any ObjectStore) { self.store = store }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        let content = try await store.get(key, range: range)
        let isFirst = seen.withLock { $0.insert(key).inserted }
        guard isFirst else { return content }
        return ObjectContent(info: content.info, length: content.length) {
            guard var part = try await content.makeAsyncIterator().next() else { return nil }
            part[part.count / 2] ^= 0x10
            return part
        }
    }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try await store.put(key, content, type: type, hash: hash)
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await store.head(key) }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: ObjectKey) async throws { try await store.delete(key) }
}

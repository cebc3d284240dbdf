import Glibc
import SQLite
import Synchronization
import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

@Suite struct TransfersTests {
    private let memory = MemoryObjectStore()
    private let namespace: ObjectNamespace
    private let directory: TemporaryDirectory

    init() throws {
        namespace = try ObjectNamespace(user: "alice")
        directory = try TemporaryDirectory()
    }

    private func open(
        _ name: String = "state", _ store: (any ObjectStore)? = nil, _ options: TransferOptions = TransferOptions()
    ) async throws -> Transfers {
        var options = options
        options.sizes = .small
        return try await Transfers(
            directory: "\(directory.path)/\(name)", store: store ?? memory, namespace: namespace, options: options)
    }

    /// Copies the disk in its state at this moment, as after kill -9.
    private func crash(to name: String) throws {
        try FileSystem.makeDirectories("\(directory.path)/\(name)/spool")
        for file in directory.names(below: "state") where !file.hasSuffix("-shm") {
            _ = try directory.file(name + file.dropFirst("state".utf8.count), try directory.read(file))
        }
    }

    private func end(of task: some TransferHandle, _ wanted: TransferState) async {
        for await snapshot in task.snapshots where snapshot.state == wanted { return }
    }

    @Test func `uploads and downloads run through the queue, and their results outlive the process`() async throws {
        let transfers = try await open()
        let running = Task { await transfers.run() }
        let content = Noise.bytes(46_875)
        let path = try directory.file("f.bin", content)
        let up = try await transfers.upload(UploadRequest(File(path: path), label: "task-1", priority: 3))
        let uploaded = try await up.outcome
        let down = try await transfers.download(
            DownloadRequest(uploaded.manifest, to: directory.path + "/got", label: "task-2"))
        #expect(try await down.outcome.sha256 == uploaded.sha256)
        #expect(try directory.read("got") == content)
        running.cancel()
        await running.value

        let again = try await open()
        let all = await again.all
        #expect(all.map(\.label) == ["task-1", "task-2"])
        #expect(all.map(\.snapshot.state) == [.done, .done])
        let restored = try #require(all.first as? UploadTask)
        #expect(try await restored.outcome == uploaded)
        try await again.forget(up.id)
        try await again.forget(down.id)
        #expect(await again.all.isEmpty)
        #expect(try await open().all.isEmpty)
    }

    @Test(arguments: [true, false])
    func `a file of another user is downloaded by the key of its content`(isOneChunk: Bool) async throws {
        let content = Noise.bytes(isOneChunk ? 1_000 : 46_875)
        var options = UploadOptions()
        options.sizes = .small
        options.namesOnlyChunk = true
        let bob = try ObjectNamespace(user: "bob")
        let upload = UploadTask(
            File(name: "f.bin", bytes: content), to: memory, namespace: bob, options: options, environment: .system)
        upload.start()
        let uploaded = try await upload.outcome
        let key = uploaded.content.key(in: bob)
        #expect(key.text.hasPrefix(isOneChunk ? "bob/chunks/" : "bob/manifests/"))

        _ = try await open().download(
            DownloadRequest(
                object: key, to: directory.path + "/got", size: uploaded.size, sha256: uploaded.sha256))
        // The key is in the journal, too.
        let transfers = try await open()
        let running = Task { await transfers.run() }
        let down = try #require(await transfers.all.first as? DownloadTask)
        #expect(try await down.outcome.size == Int64(content.count))
        #expect(try directory.read("got") == content)

        let wrong = try await transfers.download(
            DownloadRequest(
                object: key, to: directory.path + "/wrong", size: uploaded.size, sha256: ContentHash(of: [1])))
        await #expect(throws: ObjectStorageError.self) { try await wrong.outcome }
        #expect(!directory.names(below: "").contains("wrong"))
        #expect(throws: ObjectStorageError.self) {
            try DownloadRequest(object: ObjectKey("bob/condemned"), to: directory.path + "/got")
        }
        running.cancel()
        await running.value
    }

    @Test func `a transfer of an older program continues`() async throws {
        let transfers = try await open()
        _ = try await transfers.upload(UploadRequest(File(name: "b", bytes: Array("bytes".utf8)), label: "task-1"))
        try crash(to: "older")
        let journal = try SQLiteDatabase(path: "\(directory.path)/older/transfers.sqlite")
        try journal.executeScript(
            """
            ALTER TABLE transfer DROP COLUMN rate;
            ALTER TABLE transfer DROP COLUMN object;
            DELETE FROM schema_migration WHERE component = 'transfers' AND version >= 2;
            """)
        journal.close()

        let again = try await open("older")
        let task = try #require(await again.all.first as? UploadTask)
        #expect(task.label == "task-1")
        let running = Task { await again.run() }
        #expect(try await task.outcome.sha256 == ContentHash(of: Array("bytes".utf8)))
        running.cancel()
        await running.value
        #expect(directory.names(below: "older").contains { $0.hasSuffix("transfers.sqlite.before-transfers-3") })
    }

    @Test func `bytes and streams are kept until they are stored, and then no longer`() async throws {
        let store = GatedObjectStore(memory)
        store.close(after: 0)
        let transfers = try await open("state", store)
        let stream = AsyncThrowingStream<[UInt8], any Error> { continuation in
            for _ in 0..<3 { continuation.yield([1, 2, 3]) }
            continuation.finish()
        }
        let first = try await transfers.upload(UploadRequest(File(name: "b", bytes: Array("bytes".utf8))))
        let second = try await transfers.upload(UploadRequest(File(name: "s", stream: stream)))
        #expect(directory.names(below: "state/spool").count == 2)
        let running = Task { await transfers.run() }
        store.open()
        #expect(try await first.outcome.sha256 == ContentHash(of: Array("bytes".utf8)))
        #expect(try await second.outcome.size == 9)
        running.cancel()
        await running.value
        #expect(directory.names(below: "state/spool").isEmpty)
    }

    @Test func `after a crash an upload continues, and sends only the chunks in flight twice`() async throws {
        let content = Noise.bytes(312_500)
        let path = try directory.file("f.bin", content)
        let store = GatedObjectStore(memory)
        store.close(after: 9)
        let transfers = try await open("state", store)
        let task = try await transfers.upload(UploadRequest(File(path: path)))
        let running = Task { await transfers.run() }
        await store.waitForHeld()
        try crash(to: "crashed")
        let held = store.counts.puts
        #expect(held == 9)

        let second = GatedObjectStore(memory)
        let recovered = try await open("crashed", second)
        let runningAgain = Task { await recovered.run() }
        let handle = try #require(await recovered.transfer(task.id) as? UploadTask)
        let uploaded = try await handle.outcome
        #expect(second.counts.puts == uploaded.chunkCount + 1 - held)
        #expect(uploaded.sha256 == ContentHash(of: content))
        running.cancel()
        runningAgain.cancel()
        await running.value
        await runningAgain.value
    }

    @Test func `after a crash a download continues, and fetches only the chunks in flight twice`() async throws {
        let content = Noise.bytes(312_500)
        let single = UploadTask(File(name: "f", bytes: content), to: memory, namespace: namespace, sizes: .small)
        single.start()
        let uploaded = try await single.outcome
        let store = GatedObjectStore(memory)
        store.close(after: 9)
        let transfers = try await open("state", store)
        let request = DownloadRequest(
            uploaded.manifest, to: directory.path + "/got", partial: directory.path + "/partial")
        let task = try await transfers.download(request)
        let running = Task { await transfers.run() }
        await store.waitForHeld()
        try crash(to: "crashed")
        running.cancel()
        await running.value

        let second = GatedObjectStore(memory)
        let recovered = try await open("crashed", second)
        let runningAgain = Task { await recovered.run() }
        let handle = try #require(await recovered.transfer(task.id) as? DownloadTask)
        _ = try await handle.outcome
        #expect(try directory.read("got") == content)
        // The manifest again, and of the eight chunks that passed the gate at most those that were
        // not written.
        #expect(second.counts.gets <= uploaded.chunkCount + 1)
        #expect(handle.snapshot.bytesOnWire < Int64(content.count))
        runningAgain.cancel()
        await runningAgain.value
    }

    @Test func `a limit survives a restart`() async throws {
        let path = try directory.file("f.bin", Noise.bytes(46_875))
        let transfers = try await open()
        let up = try await transfers.upload(UploadRequest(File(path: path)))
        // A transfer that would take half a day.
        up.limit(bytesPerSecond: 1)
        up.pause()
        let running = Task { await transfers.run() }
        await end(of: up, .paused)
        running.cancel()
        await running.value
        let journal = try TransferJournal(path: "\(directory.path)/state/transfers.sqlite")
        #expect(try await journal.all().map(\.rate) == [1])
        await journal.close()

        let later = try await open()
        let again = try #require(await later.all.first as? UploadTask)
        again.limit(bytesPerSecond: nil)
        again.resume()
        let runningAgain = Task { await later.run() }
        _ = try await again.outcome
        runningAgain.cancel()
        await runningAgain.value
    }

    @Test func `a pause survives a restart, and so does the end of it`() async throws {
        let path = try directory.file("f.bin", Noise.bytes(78_125))
        let store = GatedObjectStore(memory)
        store.close(after: 1)
        let transfers = try await open("state", store)
        let task = try await transfers.upload(UploadRequest(File(path: path)))
        let running = Task { await transfers.run() }
        await store.waitForHeld()
        task.pause()
        await end(of: task, .paused)
        running.cancel()
        await running.value

        store.open()
        let again = try await open("state", store)
        let runningAgain = Task { await again.run() }
        let handle = try #require(await again.transfer(task.id) as? UploadTask)
        await end(of: handle, .paused)
        handle.resume()
        _ = try await handle.outcome
        #expect(handle.snapshot.state == .done)
        runningAgain.cancel()
        await runningAgain.value
    }

    @Test func `a cancelled upload deletes its own objects if it is the sole writer`() async throws {
        let shared = Noise.bytes(31_250, seed: 9)
        let store = GatedObjectStore(memory)
        var options = TransferOptions()
        options.isSoleWriter = true
        let transfers = try await open("state", store, options)
        let running = Task { await transfers.run() }
        let keeper = try await transfers.upload(UploadRequest(File(name: "keeper", bytes: shared)))
        _ = try await keeper.outcome
        let before = memory.count
        store.close(after: 40)
        let large = try await transfers.upload(
            UploadRequest(File(path: try directory.file("l", shared + Noise.bytes(937_500, seed: 3)))))
        await store.waitForHeld()
        #expect(memory.count > before)
        large.cancel()
        await end(of: large, .cancelled)
        // Recorded chunks are deleted; those of the last moments are left to garbage collection.
        #expect(memory.count < before + 40)
        await #expect(throws: ObjectStorageError.self) { _ = try await large.outcome }
        running.cancel()
        await running.value
        #expect(try await open("state", store, options).all.map(\.name) == ["keeper"])
    }

    @Test func `a source that changes is read again until it rests`() async throws {
        let path = try directory.restingFile("f", Noise.bytes(62_500))
        let store = GatedObjectStore(memory)
        store.close(after: 1)
        let transfers = try await open("state", store)
        let running = Task { await transfers.run() }
        let task = try await transfers.upload(UploadRequest(File(path: path)))
        await store.waitForHeld()
        _ = try directory.file("f", Noise.bytes(62_500, seed: 77))
        store.open()
        await end(of: task, .waiting)
        #expect(task.snapshot.problem?.code == .sourceChanged)
        transfers.encourage()
        #expect(try await task.outcome.sha256 == ContentHash(of: Noise.bytes(62_500, seed: 77)))
        running.cancel()
        await running.value
    }

    @Test func `a permanent failure is stored with its reason`() async throws {
        let transfers = try await open()
        let running = Task { await transfers.run() }
        let task = try await transfers.download(
            DownloadRequest(ContentHash(of: [4]), to: directory.path + "/got"))
        await #expect(throws: ObjectStorageError.self) { _ = try await task.outcome }
        running.cancel()
        await running.value
        let again = try await open()
        let restored = try #require(await again.transfer(task.id))
        #expect(restored.snapshot.state == .failed)
        #expect(restored.snapshot.problem?.code == .notFound)
    }

    @Test func `everything can be suspended and resumed at once`() async throws {
        let store = GatedObjectStore(memory)
        store.close(after: 2)
        let transfers = try await open("state", store)
        let running = Task { await transfers.run() }
        var tasks: [UploadTask] = []
        for seed in 0..<6 {
            tasks.append(
                try await transfers.upload(
                    UploadRequest(File(name: "f\(seed)", bytes: Noise.bytes(23_437, seed: UInt64(seed))))))
        }
        // Four run and cannot end, so the others are never launched.
        for task in tasks.prefix(4) { await end(of: task, .running) }
        await store.waitForHeld()
        transfers.suspendAll()
        for task in tasks { await end(of: task, .queued) }
        let puts = store.counts.puts
        store.open()
        #expect(store.counts.puts == puts)
        transfers.resumeAll()
        for task in tasks { _ = try await task.outcome }
        running.cancel()
        await running.value
    }

    @Test func `updates tell of every transfer to its end`() async throws {
        let transfers = try await open()
        let updates = transfers.updates
        let running = Task { await transfers.run() }
        let requests = (0..<5).map { UploadRequest(File(name: "f\($0)", bytes: [UInt8($0)]), label: "\($0)") }
        let tasks = try await transfers.upload(requests)
        #expect(tasks.count == 5)
        var done: Set<String> = []
        for await snapshot in updates where snapshot.state == .done {
            done.insert(snapshot.label)
            if done.count == 5 { break }
        }
        #expect(done == ["0", "1", "2", "3", "4"])
        running.cancel()
        await running.value
    }

    @Test func `the owner's placement gets finished downloads`() async throws {
        let single = UploadTask(File(name: "f", bytes: [1, 2, 3]), to: memory, namespace: namespace, sizes: .small)
        single.start()
        let uploaded = try await single.outcome
        let placed = Mutex<[String]>([])
        var options = TransferOptions()
        options.placement = { snapshot, finished, destination in
            placed.withLock { $0.append(snapshot.label) }
            try FileSystem.rename(finished, to: destination + ".placed")
        }
        let transfers = try await open("state", memory, options)
        let running = Task { await transfers.run() }
        let task = try await transfers.download(
            DownloadRequest(uploaded.manifest, to: directory.path + "/got", label: "here"))
        _ = try await task.outcome
        #expect(placed.withLock { $0 } == ["here"])
        #expect(try directory.read("got.placed") == [1, 2, 3])
        running.cancel()
        await running.value
    }
}

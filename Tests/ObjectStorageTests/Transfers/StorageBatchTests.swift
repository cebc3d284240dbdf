import Testing

@testable import ObjectStorage

@Suite struct StorageBatchTests {
    private let memory = MemoryObjectStore()
    private let namespace: ObjectNamespace

    init() throws { namespace = try ObjectNamespace(user: "alice") }

    @Test func `one result has the saved, the deleted and the failed files`() async throws {
        let old = UploadTask(File(name: "old", bytes: [9]), to: memory, namespace: namespace)
        old.start()
        let manifest = try await old.outcome.manifest
        var batch = StorageBatch()
        var wrong = File(name: "wrong", bytes: [1])
        wrong.sha256 = ContentHash(of: [2])
        let contents = (0..<6).map { Noise.bytes(6250, seed: UInt64($0)) }
        for (index, content) in contents.enumerated() { batch.save(File(name: "f\(index)", bytes: content)) }
        batch.save(wrong)
        batch.delete(manifest)
        let task = batch.task(in: memory, namespace: namespace)
        var last: TransferSnapshot?
        let snapshots = task.snapshots
        task.start()
        for await snapshot in snapshots { last = snapshot }
        let result = try await task.outcome
        #expect(result.failureCount == 1)
        #expect(result.saved.map(\.name) == ["f0", "f1", "f2", "f3", "f4", "f5", "wrong"])
        #expect(
            result.saved.prefix(6).compactMap { try? $0.result.get().sha256 } == contents.map { ContentHash(of: $0) })
        #expect(try await memory.head(namespace.manifest(manifest)) == nil)
        #expect(last?.bytesTotal == 37_501)
        #expect(last?.bytesDone == 37_501)
        #expect(last?.state == .done)
    }

    @Test func `a paused batch continues with the remaining files`() async throws {
        let store = GatedObjectStore(memory)
        store.close(after: 6)
        var batch = StorageBatch()
        for index in 0..<8 { batch.save(File(name: "f\(index)", bytes: Noise.bytes(50_000, seed: UInt64(index)))) }
        let task = batch.task(in: store, namespace: namespace)
        let snapshots = task.snapshots
        task.start()
        await store.waitForHeld()
        task.pause()
        for await snapshot in snapshots where snapshot.state == .paused { break }
        store.open()
        task.resume()
        #expect(try await task.outcome.failureCount == 0)
        #expect(store.counts.puts == 16)
    }
}

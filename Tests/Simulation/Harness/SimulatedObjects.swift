import ObjectStorage

/// The connection of a process to the object store, which can be slow, lossy or cut.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class SimulatedObjects: ObjectStore, @unchecked Sendable {
    private let store: MemoryObjectStore
    private let server: SimulatedServer
    private let scheduler: Scheduler
    var link = SimulatedRemote.Link.good
    /// The percentage of calls that are lost.
    var lossRate = 0
    /// Whether the process is gone, so that nothing it still does has an effect.
    private var isGone = false

    init(_ store: MemoryObjectStore, _ server: SimulatedServer, _ scheduler: Scheduler) {
        self.store = store
        self.server = server
        self.scheduler = scheduler
    }

    func hangUp() { isGone = true }

    private func travel() async throws {
        try check()
        let count = server.restoreCount
        try await scheduler.sleep(for: scheduler.random.milliseconds(1...40))
        if link == .silent { try await scheduler.sleep(for: .seconds(30)) }
        try check()
        if server.isDown || server.restoreCount != count {
            throw ObjectStorageError(.transient, "the server is down")
        }
        if link != .good || scheduler.random.chance(lossRate) {
            throw ObjectStorageError(.transient, "the network is \(link.rawValue)")
        }
    }

    private func check() throws {
        if isGone { throw ObjectStorageError(.cancelled, "the process is gone") }
    }

    private func call<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await travel()
        let result = try await body()
        try await travel()
        return result
    }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try await call { try await store.put(key, content, type: type, hash: hash) }
    }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        try await call { try await store.get(key, range: range) }
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await call { try await store.head(key) } }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await call { try await store.list(prefix: prefix, after: after, limit: limit) }
    }

    func delete(_ key: ObjectKey) async throws { try await call { try await store.delete(key) } }
}

import ObjectStorage
import Synchronization

/// A store in memory that can be unreachable.
final class SwitchedObjectStore: ObjectStore {
    private let memory = MemoryObjectStore()
    private let isOffline = Mutex(false)

    var count: Int { memory.count }

    func setOffline(_ isOffline: Bool) { self.isOffline.withLock { $0 = isOffline } }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try await reachable.put(key, content, type: type, hash: hash)
    }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        try await reachable.get(key, range: range)
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await reachable.head(key) }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await reachable.list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: ObjectKey) async throws { try await reachable.delete(key) }

    private var reachable: MemoryObjectStore {
        get throws {
            if isOffline.withLock({ $0 }) { throw ObjectStorageError(.transient, "The server is offline.") }
            return memory
        }
    }
}

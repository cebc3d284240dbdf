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

    /// Copies all objects whose keys begin with a prefix.
    func copy(from prefix: String, to target: String) async throws {
        let memory = try reachable
        try await memory.forEach(prefix: prefix) { info in
            let content = try await memory.read(info.key, limit: .max)
            try await memory.put(ObjectKey(target + info.key.text.dropFirst(prefix.count)), content)
        }
    }

    private var reachable: MemoryObjectStore {
        get throws {
            if isOffline.withLock({ $0 }) { throw ObjectStorageError(.transient, "The server is offline.") }
            return memory
        }
    }
}

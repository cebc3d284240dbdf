import ObjectStorage
import Synchronization

/// A store whose operations (and parts that are read) are counted and fail if the script says so,
/// before they have an effect.
final class FaultyObjectStore: ObjectStore {
    private let store: any ObjectStore
    private let failing: @Sendable (Int) -> Bool
    private let error: ObjectStorageError
    private let counts = Mutex((operations: 0, failures: 0))

    init(
        _ store: any ObjectStore, error: ObjectStorageError = ObjectStorageError(.transient, "scripted fault"),
        failing: @escaping @Sendable (_ operation: Int) -> Bool
    ) {
        self.store = store
        self.failing = failing
        self.error = error
    }

    var failures: Int { counts.withLock { $0.failures } }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try step()
        try await store.put(key, content, type: type, hash: hash)
    }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        try step()
        let content = try await store.get(key, range: range)
        return ObjectContent(info: content.info, length: content.length) { [self] in
            try step()
            return try await content.makeAsyncIterator().next()
        }
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        try step()
        return try await store.head(key)
    }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try step()
        return try await store.list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: ObjectKey) async throws {
        try step()
        try await store.delete(key)
    }

    private func step() throws {
        let fails = counts.withLock { counts in
            counts.operations += 1
            let fails = failing(counts.operations)
            if fails { counts.failures += 1 }
            return fails
        }
        if fails { throw error }
    }
}

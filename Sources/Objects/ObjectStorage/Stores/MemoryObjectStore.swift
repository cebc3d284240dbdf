import Cryptography
import Synchronization

/// A store in memory, for tests, previews and caches. It checks its input as strictly as the other
/// stores.
public final class MemoryObjectStore: ObjectStore {
    private struct Stored {
        var content: [UInt8]
        var version: String
        var modified: Int64
    }

    private static let partLength = 256 << 10

    private let objects = Mutex<[ObjectKey: Stored]>([:])
    private let now: @Sendable () -> Int64

    /// Creates an empty store.
    ///
    /// - Parameter now: The clock of the store in seconds since 1970.
    public init(now: @escaping @Sendable () -> Int64 = { 0 }) { self.now = now }

    /// The number of objects.
    public var count: Int { objects.withLock { $0.count } }

    /// Stores the object. `hash` is not used.
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try Task.checkCancellation()
        let stored = Stored(content: content, version: ContentHash(of: content).short, modified: now())
        objects.withLock { $0[key] = stored }
    }

    /// Returns the content as it is now; later changes do not affect it.
    public func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        try Task.checkCancellation()
        guard let stored = objects.withLock({ $0[key] }) else {
            throw ObjectStorageError(.notFound, "there is no object \(key)")
        }
        let info = info(key, stored)
        let bounds = try info.clamped(range)
        let left = Mutex(stored.content[Int(bounds.lowerBound)..<Int(bounds.upperBound)])
        return ObjectContent(info: info, length: Int64(bounds.count)) {
            try Task.checkCancellation()
            return left.withLock { left in
                guard !left.isEmpty else { return nil }
                defer { left = left.dropFirst(Self.partLength) }
                return Array(left.prefix(Self.partLength))
            }
        }
    }

    /// Returns the properties of the object; nil if there is none.
    public func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        try Task.checkCancellation()
        return objects.withLock { $0[key] }.map { info(key, $0) }
    }

    /// Lists the objects whose keys begin with `prefix`, ordered by key.
    public func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try Task.checkCancellation()
        let limit = max(1, min(limit, 1000))
        let found = objects.withLock { objects in
            objects.filter { key, _ in
                key.text.utf8.starts(with: prefix.utf8) && after.map { $0 < key } ?? true
            }
        }
        let page = found.sorted { $0.key < $1.key }.prefix(limit).map { info($0.key, $0.value) }
        return ObjectPage(objects: page, next: found.count > limit ? page.last?.key : nil)
    }

    /// Removes the object. It is no error if there is none.
    public func delete(_ key: ObjectKey) async throws {
        try Task.checkCancellation()
        objects.withLock { objects in _ = objects.removeValue(forKey: key) }
    }

    private func info(_ key: ObjectKey, _ stored: Stored) -> ObjectInfo {
        ObjectInfo(key: key, size: Int64(stored.content.count), version: stored.version, modified: stored.modified)
    }
}

extension ObjectInfo {
    /// Returns the part of `range` that lies within the object. Throws `.invalid` if that is empty.
    func clamped(_ range: Range<Int64>?) throws(ObjectStorageError) -> Range<Int64> {
        guard let range else { return 0..<size }
        guard !range.isEmpty, range.lowerBound >= 0, range.lowerBound < size else {
            throw ObjectStorageError(
                .invalid, "the object \(key) has \(size) bytes and none in \(range.lowerBound)..<\(range.upperBound)")
        }
        return range.lowerBound..<min(range.upperBound, size)
    }
}

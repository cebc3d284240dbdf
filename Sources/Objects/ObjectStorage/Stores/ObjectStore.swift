/// A store of objects by key. All operations may run concurrently.
///
/// All operations throw `ObjectStorageError`, whose code tells what to do: after `.transient` the
/// same call may be repeated, after any other code it may not. A cancelled task throws
/// `CancellationError`; a change that was already in progress may still take effect.
public protocol ObjectStore: Sendable {
    /// Stores an object and replaces the previous one with the key. When this returns the object is
    /// complete, durable and visible to all readers. Until then readers see the previous object or
    /// none.
    ///
    /// - Parameter hash: The hash of `content`, if the caller knows it. A store that needs it
    ///   computes it otherwise.
    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws

    /// Opens an object, or a range of it, which is clamped to the length of the object.
    ///
    /// Throws `.notFound` if there is no object, and `.invalid` if the range is empty or begins
    /// after the end.
    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent

    /// Reads a whole object. Throws `.notFound` if there is none, and `.invalid` if it has more
    /// than `limit` bytes. A store may fetch several objects that are requested at the same time
    /// with one request.
    func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8]

    /// Returns the properties of an object; nil if there is none.
    func head(_ key: ObjectKey) async throws -> ObjectInfo?

    /// Lists at most `limit` (1 to 1000) objects whose keys begin with `prefix` and come after
    /// `after`, ordered by the bytes of their keys.
    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage

    /// Deletes an object. It is no error if there is none.
    func delete(_ key: ObjectKey) async throws
}

extension ObjectStore {
    /// Stores an object whose hash the caller does not know. See `put(_:_:type:hash:)`.
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType = .octetStream) async throws {
        try await put(key, content, type: type, hash: nil)
    }

    /// Opens a whole object.
    public func get(_ key: ObjectKey) async throws -> ObjectContent { try await get(key, range: nil) }

    /// Reads a whole object in parts.
    public func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8] {
        try await get(key, range: nil).collect(limit: limit)
    }

    /// Calls `body` with each object whose key begins with `prefix`, in the order of the keys. The
    /// objects are listed in pages, so those that are put meanwhile may or may not be included.
    public func forEach(prefix: String, _ body: (ObjectInfo) async throws -> Void) async throws {
        var after: ObjectKey?
        repeat {
            let page = try await list(prefix: prefix, after: after, limit: 1000)
            for info in page.objects { try await body(info) }
            after = page.next
        } while after != nil
    }
}

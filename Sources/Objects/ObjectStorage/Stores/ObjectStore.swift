/// Objects by key. Every operation may run concurrently with every other.
///
/// Errors are `ObjectStorageError`s whose code says what to do: `.transient` may be tried again as it is, the others
/// not. A cancelled task throws `CancellationError` and has started no change that was not already under way.
public protocol ObjectStore: Sendable {
    /// Stores an object, replacing what had the key. When this returns the object is whole, durable and seen by all;
    /// before that readers see the old one or none.
    ///
    /// - Parameter hash: of `content`, from whoever knows it already; a store that needs it and is given nil computes it.
    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws

    /// Opens an object, or a range of it that is cut to the object's length. Throws `.notFound`, and `.invalid` for a
    /// range that is empty or begins behind the end.
    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent

    /// A whole object of at most `limit` bytes; throws `.invalid` for a longer one. A store may answer several that are asked for at the
    /// same time together.
    func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8]

    /// Nil where there is no such object.
    func head(_ key: ObjectKey) async throws -> ObjectInfo?

    /// At most `limit` (1 to 1000) objects whose keys begin with `prefix` and come after `after`, in the order of the
    /// bytes of their keys.
    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage

    /// Removes an object. A second delete is not an error.
    func delete(_ key: ObjectKey) async throws
}

extension ObjectStore {
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType = .octetStream) async throws {
        try await put(key, content, type: type, hash: nil)
    }

    public func get(_ key: ObjectKey) async throws -> ObjectContent { try await get(key, range: nil) }

    public func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8] {
        try await get(key, range: nil).collect(limit: limit)
    }

    /// Every object whose key begins with `prefix`, page by page.
    public func forEach(prefix: String, _ body: (ObjectInfo) async throws -> Void) async throws {
        var after: ObjectKey?
        repeat {
            let page = try await list(prefix: prefix, after: after, limit: 1000)
            for info in page.objects { try await body(info) }
            after = page.next
        } while after != nil
    }
}

/// What a store tells of an object without its content.
public struct ObjectInfo: Hashable, Sendable {
    public let key: ObjectKey
    public let size: Int64
    /// Changes whenever the object is put with other content; opaque.
    public let version: String?
    /// When it was put, in seconds since 1970 by the store's clock.
    public let modified: Int64?

    public init(key: ObjectKey, size: Int64, version: String? = nil, modified: Int64? = nil) {
        self.key = key
        self.size = size
        self.version = version
        self.modified = modified
    }
}

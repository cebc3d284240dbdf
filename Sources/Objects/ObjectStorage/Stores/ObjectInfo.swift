/// The properties of an object without its content.
public struct ObjectInfo: Hashable, Sendable {
    /// The key of the object.
    public let key: ObjectKey
    /// The size in bytes.
    public let size: Int64
    /// An opaque value that changes whenever the object is replaced by other content.
    public let version: String?
    /// The time at which the object was put, in seconds since 1970 by the clock of the store.
    public let modified: Int64?

    /// Creates the properties of an object.
    public init(key: ObjectKey, size: Int64, version: String? = nil, modified: Int64? = nil) {
        self.key = key
        self.size = size
        self.version = version
        self.modified = modified
    }
}

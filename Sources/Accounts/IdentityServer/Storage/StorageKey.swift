/// A permanent key of an administrator to the whole object store, created by `ferry-server keys`.
package struct StorageKey: Sendable, Hashable {
    package let accessKey: String
    /// The administrator's description of the key.
    package let label: String
    /// The time of creation in seconds since 1970.
    package let createdAt: Int64

    package init(accessKey: String, label: String, createdAt: Int64) {
        self.accessKey = accessKey
        self.label = label
        self.createdAt = createdAt
    }
}

/// A lasting key of an administrator to all of the object store, as `ferry-server keys` makes it.
package struct StorageKey: Sendable, Hashable {
    package let accessKey: String
    /// What it is for, in the administrator's words.
    package let label: String
    /// Seconds since 1970.
    package let createdAt: Int64

    package init(accessKey: String, label: String, createdAt: Int64) {
        self.accessKey = accessKey
        self.label = label
        self.createdAt = createdAt
    }
}

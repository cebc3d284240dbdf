/// What signs requests to the object store.
package struct StorageCredential: Sendable, Hashable {
    package let accessKey: String
    package let secretKey: String
    /// nil for an administrator's key.
    package let sessionToken: String?
    /// Whose objects: only keys that begin with `<userID>/`. nil: all, for an administrator.
    package let userID: String?
    /// Whether the user had an anonymous account when the credential was issued.
    package var isAnonymous = false
    /// Seconds since 1970 by the server's clock; nil: never.
    package let expiresAt: Int64?

    /// The prefix that all keys must have; nil: any key.
    package var prefix: String? { userID.map { "\($0)/" } }
}

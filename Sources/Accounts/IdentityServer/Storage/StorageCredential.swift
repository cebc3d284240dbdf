/// A credential that signs requests to the object store.
package struct StorageCredential: Sendable, Hashable {
    package let accessKey: String
    package let secretKey: String
    /// The session token; nil for an administrator's key.
    package let sessionToken: String?
    /// The user to whose keys, below `<userID>/`, the credential is limited; nil for an
    /// administrator, who may use all keys.
    package let userID: String?
    /// Whether the user had an anonymous account when the credential was issued.
    package var isAnonymous = false
    /// The expiration in seconds since 1970 by the server's clock; nil for none.
    package let expiresAt: Int64?

    /// The prefix that all keys must have; nil for any key.
    package var prefix: String? { userID.map { "\($0)/" } }
}

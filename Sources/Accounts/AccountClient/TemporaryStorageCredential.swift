/// Temporary keys to the user's own part of the object store, issued by STS.
package struct TemporaryStorageCredential: Sendable, Hashable {
    package let accessKey: String
    package let secretKey: String
    package let sessionToken: String
    /// The lifetime from the receipt of the keys.
    package let lifetime: Duration
}

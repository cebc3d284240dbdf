/// Keys of the user's own part of the object store, as STS gives them.
package struct TemporaryStorageCredential: Sendable, Hashable {
    package let accessKey: String
    package let secretKey: String
    package let sessionToken: String
    /// From the moment of the answer.
    package let lifetime: Duration
}

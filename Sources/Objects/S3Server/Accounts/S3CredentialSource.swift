/// The access keys that a server accepts.
package protocol S3CredentialSource: Sendable {
    /// Returns the credential of an access key; nil if there is none, the session token does not
    /// belong to it, or it has expired.
    func credential(accessKey: String, sessionToken: String?) async throws -> S3Credential?
}

import HTTPMessages

/// A secret that signs requests, and what it may touch.
struct S3Credential: Sendable {
    let secretKey: String
    /// Keys must begin with it; nil: every bucket and key.
    let prefix: String?
    /// What the account's unfinished multipart uploads may hold; administrators have no limit.
    var uploads = UploadLimits.lasting

    /// Whether an operation on exactly this key is allowed.
    func allows(key: String) -> Bool { prefix.map { key.utf8.starts(with: $0.utf8) } ?? true }

    var isAdministrator: Bool { prefix == nil }
}

/// Finds the credential of an access key. nil: there is none, the session token does not belong to it, or it has expired.
typealias S3CredentialLookup = @Sendable (_ accessKey: String, _ sessionToken: String?) async throws -> S3Credential?

/// A request whose signature is right.
struct AuthenticatedRequest: Sendable {
    let credential: S3Credential
    let payload: Payload

    /// What the signature says of the body.
    enum Payload: Sendable {
        case unsigned
        /// The lower-case hex of its SHA-256.
        case sha256(String)
        /// `aws-chunked`; with a signature chain where the chunks are signed.
        case chunked(ChunkSigner?, hasTrailer: Bool)
    }
}

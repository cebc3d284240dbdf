/// The result of authenticating a request.
struct AuthenticatedRequest: Sendable {
    let credential: S3Credential
    let payload: Payload

    /// The form of the body that the signature states.
    enum Payload: Sendable {
        case unsigned
        /// The SHA-256 of the body in lower-case hex.
        case sha256(String)
        /// `aws-chunked`, with a chain of signatures if the chunks are signed.
        case chunked(ChunkSigner?, hasTrailer: Bool)
    }
}

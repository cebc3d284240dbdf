/// The position of a commit in a client's stream of commits, which identifies a commit that is sent
/// again.
package struct StreamPosition: Sendable, Hashable {
    /// Identifies the stream and its account.
    package let stream: String
    /// The number of the commit in the stream.
    package let number: Int64
    /// The digest of the writes. A different commit at the same position is refused.
    package let digest: [UInt8]

    package init(stream: String, number: Int64, digest: [UInt8]) {
        self.stream = stream
        self.number = number
        self.digest = digest
    }
}

extension DocumentStoreError {
    package static let otherCommit = DocumentStoreError(
        .invalidArgument, "Other writes were committed at this place of the stream. Open a new stream.")
}

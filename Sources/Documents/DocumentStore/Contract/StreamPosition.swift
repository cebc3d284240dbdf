/// A commit's place in a client's stream of commits, by which one that is sent again is known.
package struct StreamPosition: Sendable, Hashable {
    /// Names the stream and whose it is.
    package let stream: String
    /// Counts the commits of the stream.
    package let number: Int64
    /// Of the writes: another commit cannot take the place.
    package let digest: [UInt8]

    package init(stream: String, number: Int64, digest: [UInt8]) {
        self.stream = stream
        self.number = number
        self.digest = digest
    }
}

extension DocumentStoreError {
    static let otherCommit = DocumentStoreError(
        .invalidArgument, "Other writes were committed at this place of the stream. Open a new stream.")
}

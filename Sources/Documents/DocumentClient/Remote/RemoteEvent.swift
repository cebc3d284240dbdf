package import DocumentModel
package import FirestoreProtocol

/// One message of a listen stream.
///
/// The order is that of the remote. Messages between two boundaries (a `targetChange` of kind
/// `.noChange` without target ids) belong together and are applied together.
package enum RemoteEvent: Sendable {
    /// The identity of the remote's history, sent first by remotes that support it. It changes when
    /// the remote was restored to an earlier state.
    case lineage(String)
    case targetChange(TargetChange)
    /// The document matches the targets `added`, and no longer matches `removed`.
    case changed(EncodedDocument, added: [Int32], removed: [Int32])
    /// The document does not exist at `readTime`, or at the time of the next boundary if that is
    /// nil.
    case deleted(DocumentName, removed: [Int32], readTime: Timestamp?)
    /// The document no longer matches these targets. It may still exist.
    case left(DocumentName, removed: [Int32])
    /// The number of documents that the target has.
    case filter(target: Int32, count: Int32)

    package struct TargetChange: Sendable {
        package enum Kind: Sendable, Hashable {
            case noChange
            case added
            case removed
            case current
            case reset
        }

        package var kind: Kind
        /// The targets concerned; empty for all targets.
        package var targetIDs: [Int32]
        /// The reason for which the remote removed the target; nil if that was requested.
        package var cause: RemoteError?
        package var resumeToken: [UInt8]
        package var readTime: Timestamp?

        package init(
            _ kind: Kind, targetIDs: [Int32] = [], cause: RemoteError? = nil, resumeToken: [UInt8] = [],
            readTime: Timestamp? = nil
        ) {
            self.kind = kind
            self.targetIDs = targetIDs
            self.cause = cause
            self.resumeToken = resumeToken
            self.readTime = readTime
        }
    }
}

/// A query that a listen stream watches.
package struct RemoteTarget: Sendable, Hashable {
    /// The id, which is positive and unique on a stream.
    package var id: Int32
    package var query: Query
    /// The token with which to resume; empty to start from the beginning.
    package var resumeToken: [UInt8]

    package init(id: Int32, query: Query, resumeToken: [UInt8] = []) {
        self.id = id
        self.query = query
        self.resumeToken = resumeToken
    }
}

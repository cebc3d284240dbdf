package import DocumentModel
package import FirestoreProtocol

/// One message of a listen stream.
///
/// The order is the remote's. What stands between two boundaries (a `targetChange` of kind `.noChange` without target
/// ids) belongs together and is applied together.
package enum RemoteEvent: Sendable {
    /// The first of a stream, from remotes that tell it: which line of commits the remote is of. Once the remote was put back to
    /// an earlier state it says something else.
    case lineage(String)
    case targetChange(TargetChange)
    /// The document matches the targets `added`, and no longer matches `removed`.
    case changed(EncodedDocument, added: [Int32], removed: [Int32])
    /// The document does not exist at `readTime`; without one, at the time of the next boundary.
    case deleted(DocumentName, removed: [Int32], readTime: Timestamp?)
    /// The document no longer matches these targets; whether it exists is not said.
    case left(DocumentName, removed: [Int32])
    /// How many documents the target has.
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
        /// Empty: all targets.
        package var targetIDs: [Int32]
        /// Why the remote removed the target; nil if it was asked to.
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
    /// Positive, and unique on a stream.
    package var id: Int32
    package var query: Query
    /// Where to go on; empty to start afresh.
    package var resumeToken: [UInt8]

    package init(id: Int32, query: Query, resumeToken: [UInt8] = []) {
        self.id = id
        self.query = query
        self.resumeToken = resumeToken
    }
}

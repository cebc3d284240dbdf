package import DocumentModel
package import FirestoreProtocol

/// One message of a listen stream, as `google.firestore.v1.ListenResponse` has them.
package enum ListenEvent: Sendable, Hashable {
    case added(targetID: Int32)
    /// By the client's wish, after `once`, or, with a cause, because the target cannot be served.
    case removed(targetID: Int32, cause: DocumentStoreError?)
    /// The target's documents as of `readTime` have all been told.
    case current(targetID: Int32, readTime: Timestamp, token: [UInt8])
    /// The client forgets the target's documents; all of them follow.
    case reset(targetID: Int32)
    /// Everything up to `readTime` has been told for all targets. `token` resumes from here.
    case boundary(readTime: Timestamp, token: [UInt8])
    /// The document is new or changed in `targetIDs`, and no longer in `removedTargetIDs`.
    case changed(EncodedDocument, targetIDs: [Int32], removedTargetIDs: [Int32])
    /// The document still exists but is no longer among the targets' results.
    case left(DocumentName, readTime: Timestamp, removedTargetIDs: [Int32])
    case deleted(DocumentName, readTime: Timestamp, removedTargetIDs: [Int32])
    /// How many documents the target has. Where the client held another number than it should have, `unchanged` are the
    /// names of the target's documents that have not changed since, so that it can tell which of its own are gone.
    case existenceFilter(targetID: Int32, count: Int32, unchanged: [DocumentName]?)
}

package import DocumentModel
package import FirestoreProtocol

/// One message of a listen stream, as in `google.firestore.v1.ListenResponse`.
package enum ListenEvent: Sendable, Hashable {
    case added(targetID: Int32)
    /// The target was removed: at the client's request, after `once`, or, with a cause, because it
    /// cannot be served.
    case removed(targetID: Int32, cause: DocumentStoreError?)
    /// All documents of the target as of `readTime` have been reported.
    case current(targetID: Int32, readTime: Timestamp, token: [UInt8])
    /// The client must discard the target's documents. All of them follow.
    case reset(targetID: Int32)
    /// Everything up to `readTime` has been reported for all targets. `token` resumes from here.
    case boundary(readTime: Timestamp, token: [UInt8])
    /// The document is new or changed in `targetIDs`, and no longer in `removedTargetIDs`.
    case changed(EncodedDocument, targetIDs: [Int32], removedTargetIDs: [Int32])
    /// The document still exists but is no longer among the targets' results.
    case left(DocumentName, readTime: Timestamp, removedTargetIDs: [Int32])
    case deleted(DocumentName, readTime: Timestamp, removedTargetIDs: [Int32])
    /// The number of documents that the target has.
    ///
    /// If the client held a different number than expected, `unchanged` contains the names of the
    /// target's documents that have not changed since, from which the client can determine which of
    /// its documents no longer belong to the target.
    case existenceFilter(targetID: Int32, count: Int32, unchanged: [DocumentName]?)
}

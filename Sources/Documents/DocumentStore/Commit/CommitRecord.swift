import DocumentModel
import FirestoreProtocol

/// A durable commit, in the form in which listeners are notified of it.
struct CommitRecord: Sendable {
    struct Change: Sendable {
        let name: DocumentName
        let before: Document?
        let after: Document?
        /// `after`, encoded once for the disk and for all listeners.
        let encoded: EncodedDocument?
    }

    let time: Timestamp
    let changes: [Change]
}

extension CommitRecord.Change {
    init(_ effect: CommitEffects.Effect) {
        self.init(
            name: effect.name, before: effect.before, after: effect.after,
            encoded: effect.after.map(EncodedDocument.init))
    }
}

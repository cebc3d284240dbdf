package import DocumentModel
package import FirestoreProtocol

/// A durable commit, in the form in which listeners are notified of it.
package struct CommitRecord: Sendable {
    package struct Change: Sendable {
        package let name: DocumentName
        package let before: Document?
        package let after: Document?
        /// `after`, encoded once for the disk and for all listeners.
        package let encoded: EncodedDocument?

        package init(name: DocumentName, before: Document?, after: Document?, encoded: EncodedDocument?) {
            self.name = name
            self.before = before
            self.after = after
            self.encoded = encoded
        }
    }

    package let time: Timestamp
    package let changes: [Change]

    package init(time: Timestamp, changes: [Change]) {
        self.time = time
        self.changes = changes
    }
}

extension CommitRecord.Change {
    package init(_ effect: CommitEffects.Effect) {
        self.init(
            name: effect.name, before: effect.before, after: effect.after,
            encoded: effect.after.map(EncodedDocument.init))
    }
}

package import DocumentModel
import FirestoreProtocol

/// The effects of the writes of one commit, computed before anything is stored. Either all of them
/// are applied or none.
package struct CommitEffects {
    /// The effect of a commit on one document.
    package struct Effect {
        package let name: DocumentName
        package let before: Document?
        package var after: Document?
        package var changed = false
        var transformCount = 0
    }

    /// One effect per document, in the order in which the writes first name the documents.
    package var effects: [Effect] = []
    package private(set) var results: [WriteResult] = []
    package private(set) var changes: [ProposedChange] = []

    /// Computes the effects of writes.
    ///
    /// - Parameter stored: returns the newest version of a document.
    package init(_ writes: [Write], at time: Timestamp, stored: (DocumentName) throws -> Document?) throws {
        var places: [DocumentName: Int] = [:]
        results.reserveCapacity(writes.count)
        changes.reserveCapacity(writes.count)
        for write in writes {
            let name = write.name
            let place: Int
            if let known = places[name] {
                place = known
            } else {
                let before = try stored(name)
                place = effects.count
                places[name] = place
                effects.append(Effect(name: name, before: before, after: before))
            }
            effects[place].transformCount += write.transforms.count
            try DocumentLimits.check(transformCount: effects[place].transformCount)
            let before = effects[place].after
            let outcome = try WriteApplication.apply(write, to: before, at: time)
            effects[place].after = outcome.document
            effects[place].changed = effects[place].changed || outcome.changed
            results.append(outcome.result)
            changes.append(ProposedChange(write: write, before: before, after: outcome.document))
        }
        // A document that the same commit creates and deletes is never visible.
        for index in effects.indices where effects[index].before == nil && effects[index].after == nil {
            effects[index].changed = false
        }
    }

    /// The documents that get a new version, or are deleted.
    package var changed: [Effect] { effects.filter(\.changed) }
}

/// Decides when an unused object is marked for deletion, and when it is deleted. All times use the
/// same clock and the same unit.
///
/// Two phases are necessary because an upload relies on objects that it found in the store long
/// before the document that refers to them is written. An object to which nothing refers is first
/// marked. From then on uploads do not see it, and one that needs it uploads it again. An object is
/// deleted only after it was marked for the whole `grace` period, which is longer than any upload
/// takes and than any device is offline between an upload and its document, and only if it was not
/// uploaded again and is still unused.
package struct CollectionTerms: Sendable {
    /// The current time.
    package var now: Int64
    /// The time for which an object stays marked before it is deleted.
    package var grace: Int64
    /// The age below which an unused object is not marked, because its upload may be in progress.
    package var youth: Int64

    /// The decision on one object.
    package enum Verdict: Hashable, Sendable {
        /// The object is in use and not marked: do nothing.
        case keep
        /// The object is marked, but in use or uploaded again: remove the mark.
        case acquit
        /// The object is unused, but too young to be marked or to be deleted: do nothing.
        case wait
        /// Mark the object for deletion.
        case condemn
        /// Delete the object.
        case remove
    }

    /// Creates terms.
    package init(now: Int64, grace: Int64, youth: Int64) {
        self.now = now
        self.grace = grace
        self.youth = youth
    }

    /// Returns what to do with an object.
    ///
    /// - Parameters:
    ///   - isNeeded: Whether a document refers to the object.
    ///   - modified: When the object was last uploaded.
    ///   - condemned: When the object was marked for deletion; nil if it is not.
    package func verdict(isNeeded: Bool, modified: Int64, condemned: Int64?) -> Verdict {
        if isNeeded { return condemned == nil ? .keep : .acquit }
        guard let condemned else { return modified < now - youth ? .condemn : .wait }
        // An object that was marked was older than `youth` then, so this one was uploaded again.
        if modified >= condemned - youth { return .acquit }
        return condemned <= now - grace ? .remove : .wait
    }
}

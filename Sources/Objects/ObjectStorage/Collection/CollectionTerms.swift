/// When what nothing needs is condemned, and when it is removed. All times are of one clock and in one unit.
///
/// In two phases, because an upload relies on what it found in the store long before its document says so. An object that nothing refers
/// to is condemned first: uploads do not see it any more, so that one that needs it puts it again. Only what has been condemned for the
/// whole grace, longer than any upload takes or any machine stays away between its upload and its document, and was not put again
/// and is still not referred to, is removed.
package struct CollectionTerms: Sendable {
    package var now: Int64
    package var grace: Int64
    /// Younger objects are left alone: their upload may be under way.
    package var youth: Int64

    package enum Verdict: Hashable, Sendable {
        case keep
        /// It was condemned, and is to be no more.
        case acquit
        /// Nothing needs it, and its time has not come.
        case wait
        case condemn
        case remove
    }

    package init(now: Int64, grace: Int64, youth: Int64) {
        self.now = now
        self.grace = grace
        self.youth = youth
    }

    /// - Parameters:
    ///   - modified: when it was put.
    ///   - condemned: since when it is condemned.
    package func verdict(isNeeded: Bool, modified: Int64, condemned: Int64?) -> Verdict {
        if isNeeded { return condemned == nil ? .keep : .acquit }
        guard let condemned else { return modified < now - youth ? .condemn : .wait }
        // When it was condemned it was older.
        if modified >= condemned - youth { return .acquit }
        return condemned <= now - grace ? .remove : .wait
    }
}

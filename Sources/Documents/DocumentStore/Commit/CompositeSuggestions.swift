import Synchronization

/// The composite indexes that the queries of accounts have suggested, so that each suggestion is handled once.
package final class CompositeSuggestions: Sendable {
    package struct Suggestion: Hashable, Sendable {
        package let collection: Int64
        package let index: CompositeIndex

        package init(_ index: CompositeIndex, of collection: Int64) {
            self.index = index
            self.collection = collection
        }
    }

    /// The maximum number of suggestions that are handled for an account, and remembered in total.
    private static let limit = (account: 100, total: 10_000)

    private let known = Mutex<[String?: Set<Suggestion>]>([:])

    package init() {}

    /// Remembers a suggestion of an account. Returns whether it is to be handled: it is new, and the account has not
    /// made too many.
    package func add(_ suggestion: Suggestion, for account: String?) -> Bool {
        known.withLock { known in
            guard known[account]?.count ?? 0 < Self.limit.account else { return false }
            if known.reduce(0, { $0 + $1.value.count }) >= Self.limit.total { known = [:] }
            return known[account, default: []].insert(suggestion).inserted
        }
    }

    /// Forgets a suggestion that could not be handled, so that the next query makes it again.
    package func remove(_ suggestion: Suggestion, for account: String?) {
        known.withLock { _ = $0[account]?.remove(suggestion) }
    }
}

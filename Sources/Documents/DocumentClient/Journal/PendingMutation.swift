/// A mutation in the journal, for display and for decisions.
public struct PendingMutation: Sendable, Hashable, Identifiable {
    /// The sequence number, which identifies the mutation.
    public let id: Int64
    /// The mutation.
    public let mutation: Mutation
    /// The reason for which the remote rejected it; nil while it can still be sent.
    public let parkedReason: String?
    /// The time at which it was made, in milliseconds of the local clock since 1970.
    public let appendedMilliseconds: Int64
}

extension [PendingMutation] {
    /// The reason for which the oldest rejected mutation was rejected; nil if there is none.
    package var firstRefusal: String? { lazy.compactMap(\.parkedReason).first }
}

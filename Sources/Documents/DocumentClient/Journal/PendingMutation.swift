/// A mutation in the journal, for showing and deciding.
public struct PendingMutation: Sendable, Hashable, Identifiable {
    public let id: Int64
    public let mutation: Mutation
    /// Why the remote will not have it; nil while it is still to be sent.
    public let parkedReason: String?
    /// When it was made, in milliseconds of the local clock since 1970.
    public let appendedMilliseconds: Int64
}

extension [PendingMutation] {
    /// Why the remote will not have the oldest of those that it refuses; nil where there are none.
    package var firstRefusal: String? { lazy.compactMap(\.parkedReason).first }
}

import DocumentModel

/// The end of a mutation's time in the journal, or its rejection.
enum MutationOutcome: Sendable, Hashable {
    /// The remote has it. The time of the commit is nil if it is not known, or if there was nothing
    /// to send.
    case committed(Timestamp?)
    /// The remote refuses it for this reason. It stays in the journal.
    case rejected(String)
    /// It was removed before the remote had it.
    case discarded
    /// It is now part of the mutation with this position.
    case joined(Int64)
}

package import DocumentModel

/// The point in time that a read sees.
package enum ReadMoment: Sendable, Hashable {
    /// The present: every commit acknowledged before the read began is visible.
    case strong
    /// A time that is within the retained history and not in the future.
    case at(Timestamp)
    /// The state that the transaction sees. In a read-write transaction, the documents read stay
    /// locked until it ends.
    case transaction(TransactionID)
}

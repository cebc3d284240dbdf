package import DocumentModel

/// Which moment a read is of.
package enum ReadMoment: Sendable, Hashable {
    /// Now: every commit acknowledged before the read began.
    case strong
    /// As of a time within the history that is kept, not in the future.
    case at(Timestamp)
    /// As the transaction sees it. In a read-write transaction what is read stays locked until it ends.
    case transaction(TransactionID)
}

package import DocumentModel

/// The kind of transaction to begin.
package enum TransactionOptions: Sendable, Hashable {
    /// A transaction whose reads lock what they read.
    ///
    /// `retry` is the earlier attempt, whose age, and with it priority, the new transaction
    /// inherits. An id that this store did not create for this account gives no priority.
    case readWrite(retry: TransactionID?)
    /// A transaction that reads at one point in time, now or in the past. It never waits and is
    /// never aborted.
    case readOnly(at: Timestamp?)
}

/// The opaque id of a transaction, together with the account that uses it.
///
/// The bytes authenticate the account: a store refuses an id that it created for another account,
/// or did not create.
package struct TransactionID: Sendable, Hashable {
    package let bytes: [UInt8]
    /// The account that uses the id; nil for the operator.
    package let account: String?

    package init(bytes: [UInt8], account: String?) {
        self.bytes = bytes
        self.account = account
    }
}

package import DocumentModel

/// How a transaction is begun.
package enum TransactionOptions: Sendable, Hashable {
    /// Reads lock what they read. `retry`: the transaction that this one tries again, whose age and so whose priority it
    /// inherits. An id that this store did not make for this account gives no priority.
    case readWrite(retry: TransactionID?)
    /// Reads one moment, now or in the past; never waits and is never aborted.
    case readOnly(at: Timestamp?)
}

/// The opaque name of a transaction, together with the account that uses it.
///
/// The bytes authenticate the account: a store refuses an id that it made for another account, or did not make, as it does
/// any other bytes.
package struct TransactionID: Sendable, Hashable {
    package let bytes: [UInt8]
    /// Who uses the id; nil for the operator.
    package let account: String?

    package init(bytes: [UInt8], account: String?) {
        self.bytes = bytes
        self.account = account
    }
}

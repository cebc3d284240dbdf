package import DocumentModel

/// How a transaction is begun.
package enum TransactionOptions: Sendable, Hashable {
    /// Reads lock what they read. `retry`: the transaction that this one tries again, whose age and so whose priority it
    /// inherits; any bytes are taken.
    case readWrite(retry: TransactionID?)
    /// Reads one moment, now or in the past; never waits and is never aborted.
    case readOnly(at: Timestamp?)
}

/// The opaque name of a transaction.
package struct TransactionID: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}

package import DocumentModel

/// The message `google.firestore.v1.TransactionOptions`. Without a mode a transaction is
/// read-write.
package enum TransactionOptions: Sendable, Hashable {
    package enum ConcurrencyMode: Sendable, Hashable {
        /// The server chooses.
        case unspecified
        case optimistic
        case pessimistic
    }

    /// A transaction that only reads.
    ///
    /// - Parameter readTime: The state to read; nil for the newest.
    case readOnly(readTime: Timestamp?)
    /// A transaction that reads and writes.
    ///
    /// - Parameter retrying: The id of the transaction that this one repeats; empty if there is
    ///   none.
    case readWrite(retrying: [UInt8], concurrencyMode: ConcurrencyMode)
}

extension TransactionOptions: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self = .readWrite(retrying: [], concurrencyMode: .unspecified)
        while try reader.next() {
            switch reader.field {
            case 2:
                self = try reader.nested(TransactionOptions.self) { inner throws(ProtocolError) in
                    try Self.readOnly(from: &inner)
                }
            case 3:
                self = try reader.nested(TransactionOptions.self) { inner throws(ProtocolError) in
                    try Self.readWrite(from: &inner)
                }
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch self {
        case .readOnly(let readTime): writer.nested(field: 2) { $0.writeIfPresent(readTime, field: 2) }
        case .readWrite(let retrying, let concurrencyMode):
            writer.nested(field: 3) { inner in
                inner.writeUnlessDefault(retrying, field: 1)
                switch concurrencyMode {
                case .unspecified: break
                case .optimistic: inner.write(1 as Int32, field: 2)
                case .pessimistic: inner.write(2 as Int32, field: 2)
                }
            }
        }
    }

    private static func readOnly(from reader: inout ProtobufReader) throws(ProtocolError) -> TransactionOptions {
        var readTime: Timestamp?
        while try reader.next() {
            if reader.field == 2 {
                readTime = try reader.message()
            } else {
                try reader.skip()
            }
        }
        return .readOnly(readTime: readTime)
    }

    private static func readWrite(from reader: inout ProtobufReader) throws(ProtocolError) -> TransactionOptions {
        var retrying: [UInt8] = []
        var mode = ConcurrencyMode.unspecified
        while try reader.next() {
            switch reader.field {
            case 1: retrying = try reader.bytes()
            case 2:
                switch try reader.int32() {
                case 1: mode = .optimistic
                case 2: mode = .pessimistic
                default: mode = .unspecified
                }
            default: try reader.skip()
            }
        }
        return .readWrite(retrying: retrying, concurrencyMode: mode)
    }
}

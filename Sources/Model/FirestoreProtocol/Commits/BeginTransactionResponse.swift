/// The message `google.firestore.v1.BeginTransactionResponse`.
package struct BeginTransactionResponse: ProtobufMessage, Hashable {
    /// The opaque id of the transaction, which is never empty.
    package var transaction: [UInt8]

    package init(transaction: [UInt8] = []) {
        self.transaction = transaction
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: transaction = try reader.bytes()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(transaction, field: 1)
    }
}

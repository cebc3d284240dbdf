package import DocumentModel

/// The message `google.firestore.v1.CommitRequest`.
package struct CommitRequest: ProtobufMessage, Hashable {
    package var database: DatabaseName
    /// The writes, which are applied in order and atomically.
    package var writes: [Write]
    /// The id of the transaction to commit; empty if there is none.
    package var transaction: [UInt8]

    package init(database: DatabaseName, writes: [Write] = [], transaction: [UInt8] = []) {
        self.database = database
        self.writes = writes
        self.transaction = transaction
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var database = ""
        var writes: [Write] = []
        var transaction: [UInt8] = []
        while try reader.next() {
            switch reader.field {
            case 1: database = try reader.string()
            case 2: writes.append(try reader.message())
            case 3: transaction = try reader.bytes()
            default: try reader.skip()
            }
        }
        self.init(database: try DatabaseName(message: database), writes: writes, transaction: transaction)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(database.description, field: 1)
        writer.writeEach(writes, field: 2)
        writer.writeUnlessDefault(transaction, field: 3)
    }
}

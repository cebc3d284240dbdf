package import DocumentModel

/// The message `google.firestore.v1.RollbackRequest`.
package struct RollbackRequest: ProtobufMessage, Hashable {
    package var database: DatabaseName
    package var transaction: [UInt8]

    package init(database: DatabaseName, transaction: [UInt8]) {
        self.database = database
        self.transaction = transaction
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var database = ""
        var transaction: [UInt8] = []
        while try reader.next() {
            switch reader.field {
            case 1: database = try reader.string()
            case 2: transaction = try reader.bytes()
            default: try reader.skip()
            }
        }
        self.init(database: try DatabaseName(message: database), transaction: transaction)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(database.description, field: 1)
        writer.writeUnlessDefault(transaction, field: 2)
    }
}

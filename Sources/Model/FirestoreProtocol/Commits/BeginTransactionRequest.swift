package import DocumentModel

/// The message `google.firestore.v1.BeginTransactionRequest`.
package struct BeginTransactionRequest: ProtobufMessage, Hashable {
    package var database: DatabaseName
    /// The mode of the transaction; nil for read-write.
    package var options: TransactionOptions?

    package init(database: DatabaseName, options: TransactionOptions? = nil) {
        self.database = database
        self.options = options
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var database = ""
        var options: TransactionOptions?
        while try reader.next() {
            switch reader.field {
            case 1: database = try reader.string()
            case 2: options = try reader.message()
            default: try reader.skip()
            }
        }
        self.init(database: try DatabaseName(message: database), options: options)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(database.description, field: 1)
        writer.writeIfPresent(options, field: 2)
    }
}

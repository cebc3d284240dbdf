package import DocumentModel

/// The message `google.firestore.v1.ExecutePipelineRequest`. The pipeline stays encoded, because
/// the standard edition executes none.
package struct ExecutePipelineRequest: ProtobufMessage, Hashable {
    package var database: DatabaseName
    /// The encoded message StructuredPipeline.
    package var structuredPipeline: [UInt8]
    package var consistency: ReadConsistency?
    package var autoCommitTransaction: Bool

    package init(
        database: DatabaseName, structuredPipeline: [UInt8] = [], consistency: ReadConsistency? = nil,
        autoCommitTransaction: Bool = false
    ) {
        self.database = database
        self.structuredPipeline = structuredPipeline
        self.consistency = consistency
        self.autoCommitTransaction = autoCommitTransaction
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var database = ""
        var structuredPipeline: [UInt8] = []
        var consistency: ReadConsistency?
        var autoCommitTransaction = false
        while try reader.next() {
            switch reader.field {
            case 1: database = try reader.string()
            case 2: structuredPipeline = try reader.bytes()
            case 5: consistency = .transaction(try reader.bytes())
            case 6: consistency = .newTransaction(try reader.message())
            case 7: consistency = .readTime(try reader.message())
            case 9: autoCommitTransaction = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            database: try DatabaseName(message: database), structuredPipeline: structuredPipeline,
            consistency: consistency, autoCommitTransaction: autoCommitTransaction)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(database.description, field: 1)
        writer.write(structuredPipeline, field: 2)
        consistency.encode(to: &writer, transaction: 5, newTransaction: 6, readTime: 7)
        writer.writeUnlessDefault(autoCommitTransaction, field: 9)
    }
}

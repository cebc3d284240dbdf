package import DocumentModel

/// The message `google.firestore.v1.BatchGetDocumentsRequest`.
package struct BatchGetDocumentsRequest: ProtobufMessage, Hashable {
    package var database: DatabaseName
    package var documents: [DocumentName]
    /// The fields to return; nil for all.
    package var mask: [FieldPath]?
    package var consistency: ReadConsistency?

    package init(
        database: DatabaseName, documents: [DocumentName] = [], mask: [FieldPath]? = nil,
        consistency: ReadConsistency? = nil
    ) {
        self.database = database
        self.documents = documents
        self.mask = mask
        self.consistency = consistency
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var database = ""
        var documents: [DocumentName] = []
        var mask: [FieldPath]?
        var consistency: ReadConsistency?
        while try reader.next() {
            switch reader.field {
            case 1: database = try reader.string()
            case 2: documents.append(try DocumentName(message: try reader.string()))
            case 3: mask = try reader.message(DocumentMask.self).paths
            case 4: consistency = .transaction(try reader.bytes())
            case 5: consistency = .newTransaction(try reader.message())
            case 7: consistency = .readTime(try reader.message())
            default: try reader.skip()
            }
        }
        self.init(
            database: try DatabaseName(message: database), documents: documents, mask: mask, consistency: consistency)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(database.description, field: 1)
        for document in documents { writer.write(document.description, field: 2) }
        writer.writeIfPresent(mask.map(DocumentMask.init), field: 3)
        consistency.encode(to: &writer, transaction: 4, newTransaction: 5, readTime: 7)
    }
}

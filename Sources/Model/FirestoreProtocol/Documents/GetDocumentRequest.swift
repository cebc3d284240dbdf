package import DocumentModel

/// The message `google.firestore.v1.GetDocumentRequest`. The response is a Document.
package struct GetDocumentRequest: ProtobufMessage, Hashable {
    package var name: DocumentName
    /// The fields to return; nil for all.
    package var mask: [FieldPath]?
    package var consistency: ReadConsistency?

    package init(name: DocumentName, mask: [FieldPath]? = nil, consistency: ReadConsistency? = nil) {
        self.name = name
        self.mask = mask
        self.consistency = consistency
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var name = ""
        var mask: [FieldPath]?
        var consistency: ReadConsistency?
        while try reader.next() {
            switch reader.field {
            case 1: name = try reader.string()
            case 2: mask = try reader.message(DocumentMask.self).paths
            case 3: consistency = .transaction(try reader.bytes())
            case 5: consistency = .readTime(try reader.message())
            default: try reader.skip()
            }
        }
        self.init(name: try DocumentName(message: name), mask: mask, consistency: consistency)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(name.description, field: 1)
        writer.writeIfPresent(mask.map(DocumentMask.init), field: 2)
        consistency.encode(to: &writer, transaction: 3, newTransaction: nil, readTime: 5)
    }
}

package import DocumentModel

/// The message `google.firestore.v1.BatchGetDocumentsResponse`, one for each document.
package struct BatchGetDocumentsResponse: ProtobufMessage, Hashable {
    package enum Result: Sendable, Hashable {
        case found(EncodedDocument)
        case missing(DocumentName)
    }

    /// The document; nil only in a response that contains just the id of a new transaction.
    package var result: Result?
    package var transaction: [UInt8]
    package var readTime: Timestamp?

    package init(result: Result? = nil, transaction: [UInt8] = [], readTime: Timestamp? = nil) {
        self.result = result
        self.transaction = transaction
        self.readTime = readTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: result = .found(try reader.message())
            case 2: result = .missing(try DocumentName(message: try reader.string()))
            case 3: transaction = try reader.bytes()
            case 4: readTime = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch result {
        case .found(let document)?: writer.write(document, field: 1)
        case .missing(let name)?: writer.write(name.description, field: 2)
        case nil: break
        }
        writer.writeUnlessDefault(transaction, field: 3)
        writer.writeIfPresent(readTime, field: 4)
    }
}

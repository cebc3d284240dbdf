package import DocumentModel

/// The message `google.firestore.v1.DeleteDocumentRequest`. The response is an empty message.
package struct DeleteDocumentRequest: ProtobufMessage, Hashable {
    package var name: DocumentName
    package var precondition: Precondition?

    package init(name: DocumentName, precondition: Precondition? = nil) {
        self.name = name
        self.precondition = precondition
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var name = ""
        var precondition: Precondition?
        while try reader.next() {
            switch reader.field {
            case 1: name = try reader.string()
            case 2: precondition = try reader.precondition()
            default: try reader.skip()
            }
        }
        self.init(name: try DocumentName(message: name), precondition: precondition)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(name.description, field: 1)
        writer.writeIfPresent(precondition, field: 2)
    }
}

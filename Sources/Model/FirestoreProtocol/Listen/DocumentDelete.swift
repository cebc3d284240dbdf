package import DocumentModel

/// The message `google.firestore.v1.DocumentDelete`: the document no longer exists.
package struct DocumentDelete: ProtobufMessage, Hashable {
    package var document: DocumentName
    package var removedTargetIDs: [Int32]
    package var readTime: Timestamp?

    package init(document: DocumentName, removedTargetIDs: [Int32] = [], readTime: Timestamp? = nil) {
        self.document = document
        self.removedTargetIDs = removedTargetIDs
        self.readTime = readTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var document = ""
        var removedTargetIDs: [Int32] = []
        var readTime: Timestamp?
        while try reader.next() {
            switch reader.field {
            case 1: document = try reader.string()
            case 4: readTime = try reader.message()
            case 6: try reader.int32s(into: &removedTargetIDs)
            default: try reader.skip()
            }
        }
        self.init(document: try DocumentName(message: document), removedTargetIDs: removedTargetIDs, readTime: readTime)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(document.description, field: 1)
        writer.writeIfPresent(readTime, field: 4)
        writer.writePacked(removedTargetIDs, field: 6)
    }
}

package import DocumentModel

/// The message `google.firestore.v1.UpdateDocumentRequest`. The response is a Document.
package struct UpdateDocumentRequest: ProtobufMessage, Hashable {
    package var document: DocumentDraft
    /// The fields to change; nil for all.
    package var updateMask: [FieldPath]?
    /// The fields to return; nil for all.
    package var mask: [FieldPath]?
    package var precondition: Precondition?

    package init(
        document: DocumentDraft, updateMask: [FieldPath]? = nil, mask: [FieldPath]? = nil,
        precondition: Precondition? = nil
    ) {
        self.document = document
        self.updateMask = updateMask
        self.mask = mask
        self.precondition = precondition
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(document: DocumentDraft())
        while try reader.next() {
            switch reader.field {
            case 1: document = try reader.message()
            case 2: updateMask = try reader.message(DocumentMask.self).paths
            case 3: mask = try reader.message(DocumentMask.self).paths
            case 4: precondition = try reader.precondition()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(document, field: 1)
        writer.writeIfPresent(updateMask.map(DocumentMask.init), field: 2)
        writer.writeIfPresent(mask.map(DocumentMask.init), field: 3)
        writer.writeIfPresent(precondition, field: 4)
    }
}

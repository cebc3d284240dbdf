package import DocumentModel

/// The message `google.firestore.v1.CreateDocumentRequest`. The response is a Document.
package struct CreateDocumentRequest: ProtobufMessage, Hashable {
    package var parent: ParentName
    package var collectionID: String
    /// The id of the document; empty to let the server create one.
    package var documentID: String
    /// The fields of the document. It has no name.
    package var document: DocumentDraft
    /// The fields to return; nil for all.
    package var mask: [FieldPath]?

    package init(
        parent: ParentName, collectionID: String, documentID: String = "", document: DocumentDraft = DocumentDraft(),
        mask: [FieldPath]? = nil
    ) {
        self.parent = parent
        self.collectionID = collectionID
        self.documentID = documentID
        self.document = document
        self.mask = mask
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var collectionID = ""
        var documentID = ""
        var document = DocumentDraft()
        var mask: [FieldPath]?
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: collectionID = try reader.string()
            case 3: documentID = try reader.string()
            case 4: document = try reader.message()
            case 5: mask = try reader.message(DocumentMask.self).paths
            default: try reader.skip()
            }
        }
        self.init(
            parent: try ParentName(message: parent), collectionID: collectionID, documentID: documentID,
            document: document, mask: mask)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(parent.description, field: 1)
        writer.writeUnlessDefault(collectionID, field: 2)
        writer.writeUnlessDefault(documentID, field: 3)
        writer.write(document, field: 4)
        writer.writeIfPresent(mask.map(DocumentMask.init), field: 5)
    }
}

/// The message `google.firestore.v1.ListDocumentsResponse`.
package struct ListDocumentsResponse: ProtobufMessage, Hashable {
    /// The documents of the page. Those that do not exist have only a name.
    package var documents: [DocumentDraft]
    /// The token of the next page; empty on the last page.
    package var nextPageToken: String

    package init(documents: [DocumentDraft] = [], nextPageToken: String = "") {
        self.documents = documents
        self.nextPageToken = nextPageToken
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: documents.append(try reader.message())
            case 2: nextPageToken = try reader.string()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeEach(documents, field: 1)
        writer.writeUnlessDefault(nextPageToken, field: 2)
    }
}

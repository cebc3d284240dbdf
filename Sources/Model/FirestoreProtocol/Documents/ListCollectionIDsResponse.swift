/// The message `google.firestore.v1.ListCollectionIdsResponse`.
package struct ListCollectionIDsResponse: ProtobufMessage, Hashable {
    package var collectionIDs: [String]
    /// The token of the next page; empty on the last page.
    package var nextPageToken: String

    package init(collectionIDs: [String] = [], nextPageToken: String = "") {
        self.collectionIDs = collectionIDs
        self.nextPageToken = nextPageToken
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: collectionIDs.append(try reader.string())
            case 2: nextPageToken = try reader.string()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeEach(collectionIDs, field: 1)
        writer.writeUnlessDefault(nextPageToken, field: 2)
    }
}

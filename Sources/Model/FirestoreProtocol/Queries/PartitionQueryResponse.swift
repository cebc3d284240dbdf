package import DocumentModel

/// The message `google.firestore.v1.PartitionQueryResponse`.
package struct PartitionQueryResponse: ProtobufMessage, Hashable {
    /// The cursors between the partitions, each with the reference of a document.
    package var partitions: [Query.Cursor]
    /// The token of the next page; empty on the last page.
    package var nextPageToken: String

    package init(partitions: [Query.Cursor] = [], nextPageToken: String = "") {
        self.partitions = partitions
        self.nextPageToken = nextPageToken
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: partitions.append(try reader.message())
            case 2: nextPageToken = try reader.string()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeEach(partitions, field: 1)
        writer.writeUnlessDefault(nextPageToken, field: 2)
    }
}

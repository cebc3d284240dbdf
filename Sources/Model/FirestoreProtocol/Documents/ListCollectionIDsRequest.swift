package import DocumentModel

/// The message `google.firestore.v1.ListCollectionIdsRequest`.
package struct ListCollectionIDsRequest: ProtobufMessage, Hashable {
    package var parent: ParentName
    /// The maximum number of ids in the response; 0 to let the server choose.
    package var pageSize: Int32
    package var pageToken: String
    package var readTime: Timestamp?

    package init(parent: ParentName, pageSize: Int32 = 0, pageToken: String = "", readTime: Timestamp? = nil) {
        self.parent = parent
        self.pageSize = pageSize
        self.pageToken = pageToken
        self.readTime = readTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var pageSize: Int32 = 0
        var pageToken = ""
        var readTime: Timestamp?
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: pageSize = try reader.int32()
            case 3: pageToken = try reader.string()
            case 4: readTime = try reader.message()
            default: try reader.skip()
            }
        }
        self.init(parent: try ParentName(message: parent), pageSize: pageSize, pageToken: pageToken, readTime: readTime)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(parent.description, field: 1)
        writer.writeUnlessDefault(pageSize, field: 2)
        writer.writeUnlessDefault(pageToken, field: 3)
        writer.writeIfPresent(readTime, field: 4)
    }
}

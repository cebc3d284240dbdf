package import DocumentModel

/// The message `google.firestore.v1.PartitionQueryRequest`. Its parent is that of the query.
package struct PartitionQueryRequest: ProtobufMessage, Hashable {
    package var query: Query
    /// The maximum number of cursors.
    package var partitionCount: Int64
    package var pageToken: String
    package var pageSize: Int32
    package var readTime: Timestamp?

    package init(
        query: Query, partitionCount: Int64 = 0, pageToken: String = "", pageSize: Int32 = 0, readTime: Timestamp? = nil
    ) {
        self.query = query
        self.partitionCount = partitionCount
        self.pageToken = pageToken
        self.pageSize = pageSize
        self.readTime = readTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var query: StructuredQuery?
        var partitionCount: Int64 = 0
        var pageToken = ""
        var pageSize: Int32 = 0
        var readTime: Timestamp?
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: query = try reader.message()
            case 3: partitionCount = try reader.int64()
            case 4: pageToken = try reader.string()
            case 5: pageSize = try reader.int32()
            case 6: readTime = try reader.message()
            default: try reader.skip()
            }
        }
        self.init(
            query: try StructuredQuery.require(query, parent: parent), partitionCount: partitionCount,
            pageToken: pageToken, pageSize: pageSize, readTime: readTime)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(query.parent.description, field: 1)
        writer.write(StructuredQuery(query), field: 2)
        writer.writeUnlessDefault(partitionCount, field: 3)
        writer.writeUnlessDefault(pageToken, field: 4)
        writer.writeUnlessDefault(pageSize, field: 5)
        writer.writeIfPresent(readTime, field: 6)
    }
}

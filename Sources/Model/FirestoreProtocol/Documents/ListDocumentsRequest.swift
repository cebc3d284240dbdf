package import DocumentModel

/// The message `google.firestore.v1.ListDocumentsRequest`.
package struct ListDocumentsRequest: ProtobufMessage, Hashable {
    package var parent: ParentName
    /// The id of the collection; empty for all collections of the parent.
    package var collectionID: String
    /// The maximum number of documents in the response; 0 to let the server choose.
    package var pageSize: Int32
    package var pageToken: String
    /// The order of the documents, such as `a, b desc`; empty for the order of names.
    package var orderBy: String
    /// The fields to return; nil for all.
    package var mask: [FieldPath]?
    package var consistency: ReadConsistency?
    /// Whether to include documents that do not exist but have descendants. They have no fields and
    /// times.
    package var showMissing: Bool

    package init(
        parent: ParentName, collectionID: String = "", pageSize: Int32 = 0, pageToken: String = "",
        orderBy: String = "", mask: [FieldPath]? = nil, consistency: ReadConsistency? = nil, showMissing: Bool = false
    ) {
        self.parent = parent
        self.collectionID = collectionID
        self.pageSize = pageSize
        self.pageToken = pageToken
        self.orderBy = orderBy
        self.mask = mask
        self.consistency = consistency
        self.showMissing = showMissing
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var collectionID = ""
        var pageSize: Int32 = 0
        var pageToken = ""
        var orderBy = ""
        var mask: [FieldPath]?
        var consistency: ReadConsistency?
        var showMissing = false
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: collectionID = try reader.string()
            case 3: pageSize = try reader.int32()
            case 4: pageToken = try reader.string()
            case 6: orderBy = try reader.string()
            case 7: mask = try reader.message(DocumentMask.self).paths
            case 8: consistency = .transaction(try reader.bytes())
            case 10: consistency = .readTime(try reader.message())
            case 12: showMissing = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            parent: try ParentName(message: parent), collectionID: collectionID, pageSize: pageSize,
            pageToken: pageToken, orderBy: orderBy, mask: mask, consistency: consistency, showMissing: showMissing)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(parent.description, field: 1)
        writer.writeUnlessDefault(collectionID, field: 2)
        writer.writeUnlessDefault(pageSize, field: 3)
        writer.writeUnlessDefault(pageToken, field: 4)
        writer.writeUnlessDefault(orderBy, field: 6)
        writer.writeIfPresent(mask.map(DocumentMask.init), field: 7)
        consistency.encode(to: &writer, transaction: 8, newTransaction: nil, readTime: 10)
        writer.writeUnlessDefault(showMissing, field: 12)
    }
}

package import DocumentModel

/// `google.firestore.v1.ListDocumentsRequest`.
package struct ListDocumentsRequest: ProtobufMessage, Hashable {
    package var parent: ParentName
    /// Empty: all collections of the parent.
    package var collectionID: String
    /// 0: the server chooses.
    package var pageSize: Int32
    package var pageToken: String
    /// `a, b desc`; empty: by name.
    package var orderBy: String
    /// The fields to answer with; nil: all.
    package var mask: [FieldPath]?
    package var consistency: ReadConsistency?
    /// Also documents that do not exist but have descendants, without fields and times.
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

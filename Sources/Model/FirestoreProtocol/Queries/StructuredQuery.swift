import DocumentModel

/// The message `google.firestore.v1.StructuredQuery`. The parent is in the message that contains
/// this one.
struct StructuredQuery: ProtobufMessage {
    private var query: Query

    init(_ query: Query) { self.query = query }

    /// Returns the query below `parent`.
    ///
    /// - Throws: `ProtocolError` if there is no query (perhaps there is one of another kind) or the
    ///   parent is not a valid name.
    static func require(_ query: StructuredQuery?, parent: String) throws(ProtocolError) -> Query {
        guard var query = query?.query else { throw ProtocolError(.invalid, "only structured queries are supported") }
        query.parent = try ParentName(message: parent)
        return query
    }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        query = Query(parent: ParentName(DatabaseName(project: "", database: "")), collectionID: nil)
        var orders: [Query.Order] = []
        var hasSelector = false
        while try reader.next() {
            switch reader.field {
            case 1:
                // A projection without fields selects all fields. Clients request only the names
                // with `__name__`.
                let paths = try reader.message(Projection.self).paths
                query.projection = paths.isEmpty ? nil : paths
            case 2:
                guard !hasSelector else {
                    throw ProtocolError(.invalid, "StructuredQuery.from cannot have more than one collection selector.")
                }
                hasSelector = true
                let selector = try reader.message(CollectionSelector.self)
                query.collectionID = selector.collectionID.isEmpty ? nil : selector.collectionID
                query.allDescendants = selector.allDescendants
            case 3: query.filter = try reader.message()
            case 4: orders.append(try reader.message())
            case 5: query.limit = try reader.message(Int32Value.self).value
            case 6: query.offset = try reader.int32()
            case 7: query.start = try reader.message()
            case 8: query.end = try reader.message()
            case 9: query.findNearest = try reader.message()
            default: try reader.skip()
            }
        }
        query.orders = orders
    }

    func encode(to writer: inout ProtobufWriter) {
        let projection = query.projection.map { $0.isEmpty ? [.documentName] : $0 }
        writer.writeIfPresent(projection.map { Projection($0) }, field: 1)
        if query.collectionID != nil || query.allDescendants {
            let selector = CollectionSelector(
                collectionID: query.collectionID ?? "", allDescendants: query.allDescendants)
            writer.write(selector, field: 2)
        }
        writer.writeIfPresent(query.filter, field: 3)
        writer.writeEach(query.orders, field: 4)
        writer.writeIfPresent(query.limit.map { Int32Value($0) }, field: 5)
        writer.writeUnlessDefault(query.offset, field: 6)
        writer.writeIfPresent(query.start, field: 7)
        writer.writeIfPresent(query.end, field: 8)
        writer.writeIfPresent(query.findNearest, field: 9)
    }
}

/// The message `google.firestore.v1.StructuredQuery.CollectionSelector`.
private struct CollectionSelector: ProtobufMessage {
    var collectionID: String
    var allDescendants: Bool

    init(collectionID: String, allDescendants: Bool) {
        self.collectionID = collectionID
        self.allDescendants = allDescendants
    }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(collectionID: "", allDescendants: false)
        while try reader.next() {
            switch reader.field {
            case 2: collectionID = try reader.string()
            case 3: allDescendants = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(collectionID, field: 2)
        writer.writeUnlessDefault(allDescendants, field: 3)
    }
}

package import DocumentModel

/// The message `google.firestore.v1.RunQueryRequest`. Its parent is that of the query.
package struct RunQueryRequest: ProtobufMessage, Hashable {
    package var query: Query
    package var consistency: ReadConsistency?
    package var explain: ExplainOptions?

    package init(query: Query, consistency: ReadConsistency? = nil, explain: ExplainOptions? = nil) {
        self.query = query
        self.consistency = consistency
        self.explain = explain
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var query: StructuredQuery?
        var consistency: ReadConsistency?
        var explain: ExplainOptions?
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: query = try reader.message()
            case 5: consistency = .transaction(try reader.bytes())
            case 6: consistency = .newTransaction(try reader.message())
            case 7: consistency = .readTime(try reader.message())
            case 10: explain = try reader.message()
            default: try reader.skip()
            }
        }
        self.init(query: try StructuredQuery.require(query, parent: parent), consistency: consistency, explain: explain)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(query.parent.description, field: 1)
        writer.write(StructuredQuery(query), field: 2)
        consistency.encode(to: &writer, transaction: 5, newTransaction: 6, readTime: 7)
        writer.writeIfPresent(explain, field: 10)
    }
}

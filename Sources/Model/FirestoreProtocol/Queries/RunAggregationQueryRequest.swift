package import DocumentModel

/// The message `google.firestore.v1.RunAggregationQueryRequest`. Its parent is that of the query.
package struct RunAggregationQueryRequest: ProtobufMessage, Hashable {
    package var query: Query
    package var aggregations: [Query.Aggregation]
    package var consistency: ReadConsistency?
    package var explain: ExplainOptions?

    package init(
        query: Query, aggregations: [Query.Aggregation], consistency: ReadConsistency? = nil,
        explain: ExplainOptions? = nil
    ) {
        self.query = query
        self.aggregations = aggregations
        self.consistency = consistency
        self.explain = explain
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var query: StructuredAggregationQuery?
        var consistency: ReadConsistency?
        var explain: ExplainOptions?
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: query = try reader.message()
            case 4: consistency = .transaction(try reader.bytes())
            case 5: consistency = .newTransaction(try reader.message())
            case 6: consistency = .readTime(try reader.message())
            case 8: explain = try reader.message()
            default: try reader.skip()
            }
        }
        self.init(
            query: try StructuredQuery.require(query?.query, parent: parent), aggregations: query?.aggregations ?? [],
            consistency: consistency, explain: explain)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(query.parent.description, field: 1)
        writer.write(StructuredAggregationQuery(query: StructuredQuery(query), aggregations: aggregations), field: 2)
        consistency.encode(to: &writer, transaction: 4, newTransaction: 5, readTime: 6)
        writer.writeIfPresent(explain, field: 8)
    }
}

package import DocumentModel

/// The message `google.firestore.v1.RunAggregationQueryResponse`.
package struct RunAggregationQueryResponse: ProtobufMessage, Hashable {
    /// The values by alias.
    package var results: [String: Value]?
    /// The id of a new transaction; empty if there is none.
    package var transaction: [UInt8]
    package var readTime: Timestamp?
    package var explainMetrics: ExplainMetrics?

    package init(
        results: [String: Value]? = nil, transaction: [UInt8] = [], readTime: Timestamp? = nil,
        explainMetrics: ExplainMetrics? = nil
    ) {
        self.results = results
        self.transaction = transaction
        self.readTime = readTime
        self.explainMetrics = explainMetrics
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: results = try reader.message(AggregationResult.self).fields
            case 2: transaction = try reader.bytes()
            case 3: readTime = try reader.message()
            case 10: explainMetrics = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeIfPresent(results.map { AggregationResult(fields: $0) }, field: 1)
        writer.writeUnlessDefault(transaction, field: 2)
        writer.writeIfPresent(readTime, field: 3)
        writer.writeIfPresent(explainMetrics, field: 10)
    }
}

/// The message `google.firestore.v1.AggregationResult`.
private struct AggregationResult: ProtobufMessage {
    var fields: [String: Value]

    init(fields: [String: Value]) { self.fields = fields }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        fields = [:]
        while try reader.next() {
            if reader.field == 2 {
                try MapFields.readEntry(from: &reader, into: &fields)
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { MapFields.write(fields, field: 2, to: &writer) }
}

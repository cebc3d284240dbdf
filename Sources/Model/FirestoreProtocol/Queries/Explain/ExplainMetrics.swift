/// The message `google.firestore.v1.ExplainMetrics`.
package struct ExplainMetrics: ProtobufMessage, Hashable {
    /// The plan summary: one struct for each index, such as `{query_scope: "Collection",
    /// properties: "(a ASC, __name__ ASC)"}`.
    package var indexesUsed: [[String: StructValue]]?
    /// The measurements; nil unless the query was executed.
    package var executionStats: ExecutionStats?

    package init(indexesUsed: [[String: StructValue]]? = nil, executionStats: ExecutionStats? = nil) {
        self.indexesUsed = indexesUsed
        self.executionStats = executionStats
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: indexesUsed = try reader.message(PlanSummary.self).indexesUsed
            case 2: executionStats = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeIfPresent(indexesUsed.map { PlanSummary(indexesUsed: $0) }, field: 1)
        writer.writeIfPresent(executionStats, field: 2)
    }
}

/// The message `google.firestore.v1.PlanSummary`.
private struct PlanSummary: ProtobufMessage {
    var indexesUsed: [[String: StructValue]]

    init(indexesUsed: [[String: StructValue]]) { self.indexesUsed = indexesUsed }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        indexesUsed = []
        while try reader.next() {
            if reader.field == 1 {
                indexesUsed.append(try reader.message(StructMessage.self).fields)
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        for index in indexesUsed { writer.write(StructMessage(fields: index), field: 1) }
    }
}

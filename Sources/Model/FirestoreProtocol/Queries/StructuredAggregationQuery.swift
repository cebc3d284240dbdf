package import DocumentModel

/// The message `google.firestore.v1.StructuredAggregationQuery`.
struct StructuredAggregationQuery: ProtobufMessage {
    var query: StructuredQuery?
    var aggregations: [Query.Aggregation]

    init(query: StructuredQuery, aggregations: [Query.Aggregation]) {
        self.query = query
        self.aggregations = aggregations
    }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        aggregations = []
        while try reader.next() {
            switch reader.field {
            case 1: query = try reader.message()
            case 3: aggregations.append(try reader.message())
            default: try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.writeIfPresent(query, field: 1)
        writer.writeEach(aggregations, field: 3)
    }
}

/// The message `google.firestore.v1.StructuredAggregationQuery.Aggregation`.
extension Query.Aggregation: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var alias = ""
        var operation: Operation?
        while try reader.next() {
            switch reader.field {
            case 1: operation = .count(upTo: try reader.message(Count.self).upTo)
            case 2: operation = .sum(try reader.message(Operand.self).path)
            case 3: operation = .average(try reader.message(Operand.self).path)
            case 7: alias = try reader.string()
            default: try reader.skip()
            }
        }
        guard let operation else { throw ProtocolError(.invalid, "Aggregation has no operator.") }
        self.init(alias: alias, operation)
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch operation {
        case .count(let upTo): writer.write(Count(upTo: upTo), field: 1)
        case .sum(let path): writer.write(Operand(path), field: 2)
        case .average(let path): writer.write(Operand(path), field: 3)
        }
        writer.writeUnlessDefault(alias, field: 7)
    }
}

private struct Count: ProtobufMessage {
    var upTo: Int64?

    init(upTo: Int64?) { self.upTo = upTo }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        while try reader.next() {
            if reader.field == 1 {
                upTo = try reader.message(Int64Value.self).value
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.writeIfPresent(upTo.map { Int64Value($0) }, field: 1) }
}

/// The message of Sum and of Avg.
private struct Operand: ProtobufMessage {
    var path: FieldPath

    init(_ path: FieldPath) { self.path = path }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var path: FieldPath?
        while try reader.next() {
            if reader.field == 1 {
                path = try reader.message(FieldReference.self).path
            } else {
                try reader.skip()
            }
        }
        guard let path else { throw ProtocolError(.invalid, "Invalid empty property path string.") }
        self.path = path
    }

    func encode(to writer: inout ProtobufWriter) { writer.write(FieldReference(path), field: 1) }
}

package import DocumentModel

/// The message `google.firestore.v1.StructuredQuery.Filter`.
extension Query.Filter: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var filter: Query.Filter?
        while try reader.next() {
            switch reader.field {
            case 1: filter = try reader.message(CompositeFilter.self).filter
            case 2: filter = try reader.message(FieldFilter.self).filter
            case 3: filter = try reader.message(UnaryFilter.self).filter
            default: try reader.skip()
            }
        }
        guard let filter else { throw ProtocolError(.invalid, "Filter has no filter type.") }
        self = filter
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch self {
        case .and, .or: writer.write(CompositeFilter(filter: self), field: 1)
        case .field: writer.write(FieldFilter(filter: self), field: 2)
        case .unary: writer.write(UnaryFilter(filter: self), field: 3)
        }
    }
}

private struct CompositeFilter: ProtobufMessage {
    var filter: Query.Filter

    init(filter: Query.Filter) { self.filter = filter }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var operation: Int32 = 0
        var filters: [Query.Filter] = []
        while try reader.next() {
            switch reader.field {
            case 1: operation = try reader.int32()
            case 2: filters.append(try reader.message())
            default: try reader.skip()
            }
        }
        switch operation {
        case 1: filter = .and(filters)
        case 2: filter = .or(filters)
        default: throw ProtocolError(.invalid, "Unsupported CompositeFilter operator.")
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        switch filter {
        case .and(let filters):
            writer.write(1 as Int32, field: 1)
            writer.writeEach(filters, field: 2)
        case .or(let filters):
            writer.write(2 as Int32, field: 1)
            writer.writeEach(filters, field: 2)
        case .field, .unary: break
        }
    }
}

private struct FieldFilter: ProtobufMessage {
    var filter: Query.Filter

    /// The operators. The index of each is its number minus one.
    private static let operators: [Query.FieldOperator] = [
        .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .equal, .notEqual, .arrayContains, .in,
        .arrayContainsAny, .notIn,
    ]

    init(filter: Query.Filter) { self.filter = filter }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var path: FieldPath?
        var number: Int32 = 0
        var operand: Value?
        while try reader.next() {
            switch reader.field {
            case 1: path = try reader.message(FieldReference.self).path
            case 2: number = try reader.int32()
            case 3: operand = try reader.message()
            default: try reader.skip()
            }
        }
        guard let path else { throw ProtocolError(.invalid, "Invalid empty property path string.") }
        guard (1...10).contains(number) else { throw ProtocolError(.invalid, "Unknown FieldFilter operator.") }
        guard let operand else { throw ProtocolError(.invalid, "Cannot convert firestore.v1.Value with type unset.") }
        filter = .field(path, Self.operators[Int(number) - 1], operand)
    }

    func encode(to writer: inout ProtobufWriter) {
        guard case .field(let path, let fieldOperator, let operand) = filter else { return }
        writer.write(FieldReference(path), field: 1)
        writer.write(Int32((Self.operators.firstIndex(of: fieldOperator) ?? -1) + 1), field: 2)
        writer.write(operand, field: 3)
    }
}

private struct UnaryFilter: ProtobufMessage {
    var filter: Query.Filter

    /// The operators. The index of each is its number minus two.
    private static let operators: [Query.UnaryOperator] = [.isNaN, .isNull, .isNotNaN, .isNotNull]

    init(filter: Query.Filter) { self.filter = filter }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var path: FieldPath?
        var number: Int32 = 0
        while try reader.next() {
            switch reader.field {
            case 1: number = try reader.int32()
            case 2: path = try reader.message(FieldReference.self).path
            default: try reader.skip()
            }
        }
        guard let path else { throw ProtocolError(.invalid, "Invalid empty property path string.") }
        guard (2...5).contains(number) else { throw ProtocolError(.invalid, "Unknown UnaryFilter operator.") }
        filter = .unary(path, Self.operators[Int(number) - 2])
    }

    func encode(to writer: inout ProtobufWriter) {
        guard case .unary(let path, let unaryOperator) = filter else { return }
        writer.write(Int32((Self.operators.firstIndex(of: unaryOperator) ?? -2) + 2), field: 1)
        writer.write(FieldReference(path), field: 2)
    }
}

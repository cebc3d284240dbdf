package import DocumentModel

/// The message `google.firestore.v1.StructuredQuery.FindNearest`.
extension Query.FindNearest: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var field: FieldPath?
        var vector: [Double] = []
        var measure: Measure?
        var limit: Int32 = 0
        var resultField = ""
        var threshold: Double?
        while try reader.next() {
            switch reader.field {
            case 1: field = try reader.message(FieldReference.self).path
            case 2: vector = try Self.vector(try reader.message())
            case 3: measure = try Self.measure(try reader.int32())
            case 4: limit = try reader.message(Int32Value.self).value
            case 5: resultField = try reader.string()
            case 6: threshold = try reader.message(DoubleValue.self).value
            default: try reader.skip()
            }
        }
        guard let field else { throw ProtocolError(.invalid, "Invalid empty property path string.") }
        guard let measure else { throw ProtocolError(.invalid, "FindNearest.distance_measure is not set.") }
        let resultPath = resultField.isEmpty ? nil : try FieldPath(message: resultField)
        self.init(
            vectorField: field, queryVector: vector, measure: measure, limit: limit, distanceResultField: resultPath,
            distanceThreshold: threshold)
    }

    package func encode(to writer: inout ProtobufWriter) {
        let number: Int32 =
            switch measure {
            case .euclidean: 1
            case .cosine: 2
            case .dotProduct: 3
            }
        writer.write(FieldReference(vectorField), field: 1)
        writer.write(Value.vector(queryVector), field: 2)
        writer.write(number, field: 3)
        writer.write(Int32Value(limit), field: 4)
        if let distanceResultField { writer.write(distanceResultField.description, field: 5) }
        writer.writeIfPresent(distanceThreshold.map { DoubleValue($0) }, field: 6)
    }

    private static func vector(_ value: Value) throws(ProtocolError) -> [Double] {
        guard let elements = value.vectorElements else {
            throw ProtocolError(.invalid, "FindNearest.query_vector must be a vector.")
        }
        return elements.map { element in
            switch element {
            case .integer(let value): Double(value)
            case .double(let value): value
            default: 0
            }
        }
    }

    private static func measure(_ number: Int32) throws(ProtocolError) -> Measure {
        switch number {
        case 1: return .euclidean
        case 2: return .cosine
        case 3: return .dotProduct
        default: throw ProtocolError(.invalid, "FindNearest.distance_measure \(number) is unknown.")
        }
    }
}

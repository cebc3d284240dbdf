package import DocumentModel

/// The message `google.firestore.v1.DocumentTransform.FieldTransform`.
extension FieldTransform: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var path = ""
        var operation: Operation?
        while try reader.next() {
            switch reader.field {
            case 1: path = try reader.string()
            case 2:
                guard try reader.int32() == 1 else {
                    throw ProtocolError(.invalid, "set_to_server_value must be REQUEST_TIME.")
                }
                operation = .serverTimestamp
            case 3: operation = .increment(try reader.message())
            case 4: operation = .maximum(try reader.message())
            case 5: operation = .minimum(try reader.message())
            case 6: operation = .appendMissingElements(try reader.message(ArrayValue.self).values)
            case 7: operation = .removeAllFromArray(try reader.message(ArrayValue.self).values)
            default: try reader.skip()
            }
        }
        guard let operation else { throw ProtocolError(.invalid, "Field transform has no transform type.") }
        self.init(try FieldPath(message: path), operation)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(path.description, field: 1)
        switch operation {
        case .serverTimestamp: writer.write(1 as Int32, field: 2)
        case .increment(let operand): writer.write(operand, field: 3)
        case .maximum(let operand): writer.write(operand, field: 4)
        case .minimum(let operand): writer.write(operand, field: 5)
        case .appendMissingElements(let elements): writer.write(ArrayValue(elements), field: 6)
        case .removeAllFromArray(let elements): writer.write(ArrayValue(elements), field: 7)
        }
    }
}

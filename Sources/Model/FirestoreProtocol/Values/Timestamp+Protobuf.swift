package import DocumentModel

/// The message `google.protobuf.Timestamp`, truncated to microseconds.
extension Timestamp: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var seconds: Int64 = 0
        var nanos: Int32 = 0
        while try reader.next() {
            switch reader.field {
            case 1: seconds = try reader.int64()
            case 2: nanos = try reader.int32()
            default: try reader.skip()
            }
        }
        guard let timestamp = Timestamp(seconds: seconds, nanos: nanos) else {
            throw ProtocolError(
                .invalid,
                "Timestamp seconds \(seconds), nanos \(nanos) is outside 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z."
            )
        }
        self = timestamp
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(seconds, field: 1)
        writer.writeUnlessDefault(nanos, field: 2)
    }
}

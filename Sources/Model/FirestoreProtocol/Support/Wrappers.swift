/// The message `google.protobuf.Int32Value`.
struct Int32Value: ProtobufMessage {
    var value: Int32

    init(_ value: Int32) { self.value = value }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        value = 0
        while try reader.next() {
            if reader.field == 1 {
                value = try reader.int32()
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.writeUnlessDefault(value, field: 1) }
}

/// The message `google.protobuf.Int64Value`.
struct Int64Value: ProtobufMessage {
    var value: Int64

    init(_ value: Int64) { self.value = value }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        value = 0
        while try reader.next() {
            if reader.field == 1 {
                value = try reader.int64()
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.writeUnlessDefault(value, field: 1) }
}

/// The message `google.protobuf.DoubleValue`.
struct DoubleValue: ProtobufMessage {
    var value: Double

    init(_ value: Double) { self.value = value }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        value = 0
        while try reader.next() {
            if reader.field == 1 {
                value = try reader.double()
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.writeUnlessDefault(value, field: 1) }
}

/// The message `google.protobuf.Duration`.
package struct DurationMessage: ProtobufMessage, Hashable {
    package var seconds: Int64
    /// The nanoseconds, with the same sign as `seconds` and less than a second.
    package var nanos: Int32

    package init(seconds: Int64 = 0, nanos: Int32 = 0) {
        self.seconds = seconds
        self.nanos = nanos
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: seconds = try reader.int64()
            case 2: nanos = try reader.int32()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(seconds, field: 1)
        writer.writeUnlessDefault(nanos, field: 2)
    }
}

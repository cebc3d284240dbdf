/// The message `google.protobuf.Any`: an encoded message of any type.
package struct AnyMessage: ProtobufMessage, Hashable {
    /// The type of the message: `type.googleapis.com/` and its full name.
    package var typeURL: String
    /// The encoded message.
    package var value: [UInt8]

    package init(typeURL: String = "", value: [UInt8] = []) {
        self.typeURL = typeURL
        self.value = value
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: typeURL = try reader.string()
            case 2: value = try reader.bytes()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(typeURL, field: 1)
        writer.writeUnlessDefault(value, field: 2)
    }
}

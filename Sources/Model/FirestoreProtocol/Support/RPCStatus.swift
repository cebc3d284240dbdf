/// The message `google.rpc.Status`: a gRPC status inside a message.
package struct RPCStatus: ProtobufMessage, Hashable {
    /// The gRPC status code; 0 is OK.
    package var code: Int32
    package var message: String
    package var details: [AnyMessage]

    package init(code: Int32 = 0, message: String = "", details: [AnyMessage] = []) {
        self.code = code
        self.message = message
        self.details = details
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: code = try reader.int32()
            case 2: message = try reader.string()
            case 3: details.append(try reader.message())
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(code, field: 1)
        writer.writeUnlessDefault(message, field: 2)
        writer.writeEach(details, field: 3)
    }
}

/// The message `google.rpc.ErrorInfo`: the reason why a call failed, for programs. It is sent in
/// the details of an `RPCStatus`.
package struct ErrorInfo: ProtobufMessage, Hashable {
    package static let typeURL = "type.googleapis.com/google.rpc.ErrorInfo"

    /// The reason in capitals, `SOME_REASON`. It has a meaning only together with `domain`.
    package var reason: String
    /// The service that defines the reason.
    package var domain: String

    package init(reason: String = "", domain: String = "") {
        self.reason = reason
        self.domain = domain
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: reason = try reader.string()
            case 2: domain = try reader.string()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(reason, field: 1)
        writer.writeUnlessDefault(domain, field: 2)
    }
}

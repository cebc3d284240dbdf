/// The message `google.firestore.v1.ExplainOptions`.
package struct ExplainOptions: ProtobufMessage, Hashable {
    /// Whether to execute the query and measure it, not only to plan it.
    package var analyze: Bool

    package init(analyze: Bool = false) {
        self.analyze = analyze
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: analyze = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(analyze, field: 1)
    }
}

/// `google.firestore.v1.ExplainOptions`.
package struct ExplainOptions: ProtobufMessage, Hashable {
    /// Also run the query and measure it; false: only plan it.
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

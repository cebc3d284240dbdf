/// The message `google.protobuf.Empty`.
package struct EmptyMessage: ProtobufMessage, Hashable {
    package init() {}

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        while try reader.next() { try reader.skip() }
    }

    package func encode(to writer: inout ProtobufWriter) {}
}

package import DocumentModel

/// The encoded fields of a document: the entries of `map<string, Value> fields = 2` of a Document
/// message, including their tags.
///
/// A store keeps these bytes, so a response needs only a copy instead of decoding and encoding.
package struct EncodedFields: Sendable, Hashable {
    package var bytes: [UInt8]

    /// Creates fields from bytes, which are not checked before `decoded()`.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Encodes fields.
    package init(_ fields: [String: Value]) {
        var writer = ProtobufWriter()
        MapFields.write(fields, field: 2, to: &writer)
        bytes = writer.finish()
    }

    /// Decodes the fields.
    package func decoded() throws(ProtocolError) -> [String: Value] {
        try bytes.read { reader throws(ProtocolError) in
            var fields = [String: Value](minimumCapacity: reader.count(of: 2))
            while try reader.next() {
                if reader.field == 2 {
                    try MapFields.readEntry(from: &reader, into: &fields)
                } else {
                    try reader.skip()
                }
            }
            return fields
        }
    }
}

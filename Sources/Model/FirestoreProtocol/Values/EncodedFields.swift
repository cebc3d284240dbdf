package import DocumentModel

/// A document's fields as they stand in a Document message: the entries of `map<string, Value> fields = 2`, tags included.
///
/// A store keeps these bytes; answering with them costs a copy, not a decode and an encode.
package struct EncodedFields: Sendable, Hashable {
    package var bytes: [UInt8]

    /// - Parameter bytes: not checked here; `decoded()` does.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ fields: [String: Value]) {
        var writer = ProtobufWriter()
        MapFields.write(fields, field: 2, to: &writer)
        bytes = writer.finish()
    }

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

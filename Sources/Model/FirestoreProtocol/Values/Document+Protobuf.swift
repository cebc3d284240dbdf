package import DocumentModel

/// The message `google.firestore.v1.Document` as a store returns it: with a name and both times.
extension Document: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        try self.init(EncodedDocument(from: &reader))
    }

    /// Decodes the fields of a document.
    ///
    /// - Throws: `ProtocolError` if the fields cannot be decoded.
    package init(_ encoded: EncodedDocument) throws(ProtocolError) {
        self.init(
            name: encoded.name, fields: try encoded.fields.decoded(), createTime: encoded.createTime,
            updateTime: encoded.updateTime)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(name.description, field: 1)
        MapFields.write(fields, field: 2, to: &writer)
        writer.write(createTime, field: 3)
        writer.write(updateTime, field: 4)
    }
}

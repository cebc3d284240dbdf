package import DocumentModel

/// A stored document whose fields are still encoded.
package struct EncodedDocument: Sendable, Hashable {
    package var name: DocumentName
    package var fields: EncodedFields
    package var createTime: Timestamp
    package var updateTime: Timestamp

    package init(name: DocumentName, fields: EncodedFields, createTime: Timestamp, updateTime: Timestamp) {
        self.name = name
        self.fields = fields
        self.createTime = createTime
        self.updateTime = updateTime
    }

    package init(_ document: Document) {
        self.init(
            name: document.name, fields: EncodedFields(document.fields), createTime: document.createTime,
            updateTime: document.updateTime)
    }
}

extension EncodedDocument: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        let draft = try DocumentDraft(from: &reader)
        guard let createTime = draft.createTime, let updateTime = draft.updateTime else {
            throw ProtocolError(.invalid, "Document lacks create_time or update_time.")
        }
        self.init(
            name: try DocumentName(message: draft.name), fields: draft.fields, createTime: createTime,
            updateTime: updateTime)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(name.description, field: 1)
        writer.append(fields.bytes)
        writer.write(createTime, field: 3)
        writer.write(updateTime, field: 4)
    }
}

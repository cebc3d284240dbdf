package import DocumentModel

/// The message `google.firestore.v1.Document` as it occurs in requests and listings: each member
/// may be missing.
package struct DocumentDraft: Sendable, Hashable {
    /// The full resource name; empty to let the server choose it.
    package var name: String
    package var fields: EncodedFields
    package var createTime: Timestamp?
    package var updateTime: Timestamp?

    package init(
        name: String = "", fields: EncodedFields = EncodedFields(bytes: []), createTime: Timestamp? = nil,
        updateTime: Timestamp? = nil
    ) {
        self.name = name
        self.fields = fields
        self.createTime = createTime
        self.updateTime = updateTime
    }

    package init(_ document: EncodedDocument) {
        self.init(
            name: document.name.description, fields: document.fields, createTime: document.createTime,
            updateTime: document.updateTime)
    }

    package init(_ document: Document) {
        self.init(EncodedDocument(document))
    }
}

extension DocumentDraft: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        var fieldBytes = ProtobufWriter(capacity: reader.remaining)
        while try reader.next() {
            switch reader.field {
            case 1: name = try reader.string()
            case 2: fieldBytes.write(try reader.rawBytes(), field: 2)
            case 3: createTime = try reader.message()
            case 4: updateTime = try reader.message()
            default: try reader.skip()
            }
        }
        fields = EncodedFields(bytes: fieldBytes.finish())
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(name, field: 1)
        writer.append(fields.bytes)
        writer.writeIfPresent(createTime, field: 3)
        writer.writeIfPresent(updateTime, field: 4)
    }
}

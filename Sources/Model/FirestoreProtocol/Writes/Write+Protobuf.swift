package import DocumentModel

/// The message `google.firestore.v1.Write`. `verify` = 5 is not in the public proto, but the mobile
/// clients use it. The old form `transform` = 6 is decoded as an update with an empty mask and
/// never encoded.
extension Write: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var operation: Operation?
        var mask: [FieldPath]?
        var legacyTransforms: [FieldTransform]?
        var transforms: [FieldTransform] = []
        var precondition: Precondition?
        while try reader.next() {
            switch reader.field {
            case 1:
                let draft = try reader.message(DocumentDraft.self)
                operation = .update(try DocumentName(message: draft.name), fields: try draft.fields.decoded())
                legacyTransforms = nil
            case 2: operation = .delete(try DocumentName(message: try reader.string()))
            case 5: operation = .verify(try DocumentName(message: try reader.string()))
            case 3: mask = try reader.message(DocumentMask.self).paths
            case 4:
                precondition = try reader.nested(Precondition.self) { inner throws(ProtocolError) in
                    try Precondition.optional(from: &inner)
                }
            case 6:
                let transform = try reader.message(DocumentTransform.self)
                operation = .update(transform.document, fields: [:])
                legacyTransforms = transform.transforms
            case 7: transforms.append(try reader.message())
            default: try reader.skip()
            }
        }
        guard let operation else { throw ProtocolError(.invalid, "empty write operation") }
        if case .update = operation {
            if let legacyTransforms {
                mask = []
                transforms = legacyTransforms + transforms
            }
        } else {
            let verb = if case .delete = operation { "delete" } else { "verify" }
            guard mask == nil else { throw ProtocolError(.invalid, "a \(verb) must not specify a document mask.") }
            guard transforms.isEmpty else {
                throw ProtocolError(.invalid, "a \(verb) must not specify a update transform.")
            }
        }
        self.init(operation, mask: mask, transforms: transforms, precondition: precondition)
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch operation {
        case .update(let name, let fields):
            writer.nested(field: 1) { document in
                document.write(name.description, field: 1)
                MapFields.write(fields, field: 2, to: &document)
            }
        case .delete(let name): writer.write(name.description, field: 2)
        case .verify: break
        }
        writer.writeIfPresent(mask.map { DocumentMask($0) }, field: 3)
        writer.writeIfPresent(precondition, field: 4)
        if case .verify(let name) = operation { writer.write(name.description, field: 5) }
        writer.writeEach(transforms, field: 7)
    }
}

/// The message `google.firestore.v1.DocumentTransform`.
private struct DocumentTransform: ProtobufMessage {
    var document: DocumentName
    var transforms: [FieldTransform] = []

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var name = ""
        while try reader.next() {
            switch reader.field {
            case 1: name = try reader.string()
            case 2: transforms.append(try reader.message())
            default: try reader.skip()
            }
        }
        document = try DocumentName(message: name)
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.write(document.description, field: 1)
        writer.writeEach(transforms, field: 2)
    }
}

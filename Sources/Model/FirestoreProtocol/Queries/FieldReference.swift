package import DocumentModel

/// The message `google.firestore.v1.StructuredQuery.FieldReference`.
struct FieldReference: ProtobufMessage {
    var path: FieldPath

    init(_ path: FieldPath) { self.path = path }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var text = ""
        while try reader.next() {
            if reader.field == 2 {
                text = try reader.string()
            } else {
                try reader.skip()
            }
        }
        path = try FieldPath(message: text)
    }

    func encode(to writer: inout ProtobufWriter) { writer.write(path.description, field: 2) }
}

/// The message `google.firestore.v1.StructuredQuery.Projection`.
struct Projection: ProtobufMessage {
    var paths: [FieldPath]

    init(_ paths: [FieldPath]) { self.paths = paths }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        paths = []
        while try reader.next() {
            if reader.field == 2 {
                paths.append(try reader.message(FieldReference.self).path)
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.writeEach(paths.map { FieldReference($0) }, field: 2) }
}

/// The message `google.firestore.v1.StructuredQuery.Order`.
extension Query.Order: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var path: FieldPath?
        var descending = false
        while try reader.next() {
            switch reader.field {
            case 1: path = try reader.message(FieldReference.self).path
            case 2: descending = try reader.int32() == 2
            default: try reader.skip()
            }
        }
        guard let path else { throw ProtocolError(.invalid, "Invalid empty property path string.") }
        self.init(path, descending: descending)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(FieldReference(path), field: 1)
        writer.write(descending ? 2 : 1 as Int32, field: 2)
    }
}

/// The message `google.firestore.v1.Cursor`.
extension Query.Cursor: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init([], before: false)
        while try reader.next() {
            switch reader.field {
            case 1: values.append(try reader.message())
            case 2: before = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeEach(values, field: 1)
        writer.writeUnlessDefault(before, field: 2)
    }
}

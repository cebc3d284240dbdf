package import DocumentModel

/// The message `google.firestore.v1.DocumentMask`. A mask that is present but empty differs from a
/// missing one.
package struct DocumentMask: ProtobufMessage, Hashable {
    package var paths: [FieldPath]

    package init(_ paths: [FieldPath]) {
        self.paths = paths
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        paths = []
        while try reader.next() {
            if reader.field == 1 {
                paths.append(try FieldPath(message: try reader.string()))
            } else {
                try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        for path in paths { writer.write(path.description, field: 1) }
    }
}

package import DocumentModel

/// The message `google.firestore.v1.WriteResult`.
extension WriteResult: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(updateTime: nil)
        while try reader.next() {
            switch reader.field {
            case 1: updateTime = try reader.message()
            case 2: transformResults.append(try reader.message())
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeIfPresent(updateTime, field: 1)
        writer.writeEach(transformResults, field: 2)
    }
}

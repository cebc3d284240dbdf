/// The message `google.firestore.v1.DocumentChange`: a new or changed document, and the targets
/// that it entered or left.
package struct DocumentChange: ProtobufMessage, Hashable {
    package var document: EncodedDocument
    package var targetIDs: [Int32]
    package var removedTargetIDs: [Int32]

    package init(document: EncodedDocument, targetIDs: [Int32] = [], removedTargetIDs: [Int32] = []) {
        self.document = document
        self.targetIDs = targetIDs
        self.removedTargetIDs = removedTargetIDs
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var document: EncodedDocument?
        var targetIDs: [Int32] = []
        var removedTargetIDs: [Int32] = []
        while try reader.next() {
            switch reader.field {
            case 1: document = try reader.message()
            case 5: try reader.int32s(into: &targetIDs)
            case 6: try reader.int32s(into: &removedTargetIDs)
            default: try reader.skip()
            }
        }
        guard let document else { throw ProtocolError(.invalid, "DocumentChange lacks its document.") }
        self.init(document: document, targetIDs: targetIDs, removedTargetIDs: removedTargetIDs)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(document, field: 1)
        writer.writePacked(targetIDs, field: 5)
        writer.writePacked(removedTargetIDs, field: 6)
    }
}

package import DocumentModel

/// The message `google.firestore.v1.Precondition`. An empty one counts as missing; see `optional`.
extension Precondition: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        guard let precondition = try Self.optional(from: &reader) else {
            throw ProtocolError(.invalid, "Precondition has no condition.")
        }
        self = precondition
    }

    /// Reads a precondition; nil if it is empty.
    static func optional(from reader: inout ProtobufReader) throws(ProtocolError) -> Precondition? {
        var precondition: Precondition?
        while try reader.next() {
            switch reader.field {
            case 1: precondition = .exists(try reader.bool())
            case 2: precondition = .updateTime(try reader.message())
            default: try reader.skip()
            }
        }
        return precondition
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch self {
        case .exists(let exists): writer.write(exists, field: 1)
        case .updateTime(let time): writer.write(time, field: 2)
        }
    }
}

/// The message `google.firestore.v1.ListenResponse`.
package enum ListenResponse: Sendable, Hashable {
    case targetChange(TargetChange)
    case documentChange(DocumentChange)
    case documentDelete(DocumentDelete)
    case documentRemove(DocumentRemove)
    case filter(ExistenceFilter)
    /// A response of a newer server, to be ignored.
    case unrecognized
}

extension ListenResponse: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self = .unrecognized
        while try reader.next() {
            switch reader.field {
            case 2: self = .targetChange(try reader.message())
            case 3: self = .documentChange(try reader.message())
            case 4: self = .documentDelete(try reader.message())
            case 5: self = .filter(try reader.message())
            case 6: self = .documentRemove(try reader.message())
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch self {
        case .targetChange(let change): writer.write(change, field: 2)
        case .documentChange(let change): writer.write(change, field: 3)
        case .documentDelete(let delete): writer.write(delete, field: 4)
        case .filter(let filter): writer.write(filter, field: 5)
        case .documentRemove(let remove): writer.write(remove, field: 6)
        case .unrecognized: break
        }
    }
}

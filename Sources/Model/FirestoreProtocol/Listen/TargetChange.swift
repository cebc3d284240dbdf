package import DocumentModel

/// The message `google.firestore.v1.TargetChange`. NO_CHANGE with no ids and with a read time ends
/// a consistent snapshot of all targets.
package struct TargetChange: ProtobufMessage, Hashable {
    package enum Kind: Sendable, Hashable {
        case noChange
        case add
        case remove
        /// All documents of the target up to the read time were sent.
        case current
        /// The client has to forget the documents of the target; they are sent again.
        case reset
        /// A change of a newer server, to be ignored.
        case unrecognized(Int32)

        init(number: Int32) {
            self =
                switch number {
                case 0: .noChange
                case 1: .add
                case 2: .remove
                case 3: .current
                case 4: .reset
                default: .unrecognized(number)
                }
        }

        var number: Int32 {
            switch self {
            case .noChange: 0
            case .add: 1
            case .remove: 2
            case .current: 3
            case .reset: 4
            case .unrecognized(let number): number
            }
        }
    }

    package var kind: Kind
    /// The ids of the targets; empty for all targets of the stream.
    package var targetIDs: [Int32]
    /// The reason why the server removed a target; nil if the client requested it.
    package var cause: RPCStatus?
    package var resumeToken: [UInt8]
    package var readTime: Timestamp?

    package init(
        kind: Kind = .noChange, targetIDs: [Int32] = [], cause: RPCStatus? = nil, resumeToken: [UInt8] = [],
        readTime: Timestamp? = nil
    ) {
        self.kind = kind
        self.targetIDs = targetIDs
        self.cause = cause
        self.resumeToken = resumeToken
        self.readTime = readTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: kind = Kind(number: try reader.int32())
            case 2: try reader.int32s(into: &targetIDs)
            case 3: cause = try reader.message()
            case 4: resumeToken = try reader.bytes()
            case 6: readTime = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(kind.number, field: 1)
        writer.writePacked(targetIDs, field: 2)
        writer.writeIfPresent(cause, field: 3)
        writer.writeUnlessDefault(resumeToken, field: 4)
        writer.writeIfPresent(readTime, field: 6)
    }
}

import DocumentModel
import FirestoreProtocol
import SQLite

/// A mutation as encoded in the journal: kind = 1, write = 2 (`google.firestore.v1.Write`),
/// companions = 3 (repeated Write), copyOf = 4 (microseconds since 1970).
struct MutationRecord: ProtobufMessage {
    var mutation: Mutation

    init(_ mutation: Mutation) { self.mutation = mutation }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var kind: Mutation.Kind?
        var write: Write?
        var companions: [Write] = []
        var copyOf: Timestamp?
        while try reader.next() {
            switch reader.field {
            case 1: kind = Mutation.Kind(rawValue: try reader.int32())
            case 2: write = try reader.message()
            case 3: companions.append(try reader.message())
            case 4: copyOf = Timestamp(microseconds: try reader.int64())
            default: try reader.skip()
            }
        }
        guard let kind, let write else {
            throw ProtocolError(.invalid, "A journal record lacks its kind or its write.")
        }
        var fields: [String: Value] = [:]
        if case .update(_, let content) = write.operation { fields = content }
        mutation = Mutation(
            kind, write.name, fields: fields, mask: write.mask ?? [], transforms: write.transforms,
            companions: companions)
        mutation.copyOf = copyOf
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.write(mutation.kind.rawValue, field: 1)
        let write =
            mutation.kind == .delete
            ? Write(.delete(mutation.name))
            : Write(
                .update(mutation.name, fields: mutation.fields), mask: mutation.mask, transforms: mutation.transforms)
        writer.write(write, field: 2)
        writer.writeEach(mutation.companions, field: 3)
        if let time = mutation.copyOf { writer.write(time.microseconds, field: 4) }
    }
}

extension MutationRecord {
    /// Decodes a mutation that the file contains.
    ///
    /// - Throws: `SQLiteError` with `.damagedRow`.
    static func mutation(decoding content: [UInt8]) throws -> Mutation {
        do {
            return try MutationRecord(decoding: content).mutation
        } catch {
            throw SQLiteError(code: .damagedRow, message: "A stored change cannot be decoded (\(error)).")
        }
    }
}

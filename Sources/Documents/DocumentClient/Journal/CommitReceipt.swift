public import DocumentModel

/// A document of this replica's own, which nobody else writes, that its commits sign.
///
/// In the same commit as the mutations it gets their sequence numbers in `commit`. After a lost answer it tells for certain
/// whether the commit took effect, also for increments, which leave no trace of who made them. Without a receipt a commit
/// is recognised by its result; that is exact unless another client made an equal change of the same version.
public struct CommitReceipt: Sendable, Hashable {
    public let document: DocumentName
    /// Further fields that the document must have, such as the owner that rules ask for.
    public let fields: [String: Value]

    /// Whether every commit signs, or only those with transforms that count (all but server timestamps).
    public let signsAll: Bool

    public init(document: DocumentName, fields: [String: Value] = [:], signsAll: Bool = true) {
        self.document = document
        self.fields = fields
        self.signsAll = signsAll
    }

    func signs(_ mutation: Mutation) -> Bool {
        signsAll || mutation.transforms.contains { $0.operation != .serverTimestamp }
    }

    /// - Parameter version: the document's own, so that a commit which arrives a second time, or late, changes nothing.
    func write(for sequences: [Int64], version: Timestamp?) -> Write {
        var content = fields
        content["commit"] = .array(sequences.map { .integer($0) })
        let mask = content.keys.sorted().map { FieldPath(key: $0) }
        return Write(
            .update(document, fields: content), mask: mask,
            precondition: version.map { .updateTime($0) } ?? .exists(false))
    }

    /// A write that only shows whether the remote takes receipts; what was signed last stays.
    func probe(version: Timestamp?) -> Write {
        Write(
            .update(document, fields: fields), mask: fields.keys.sorted().map { FieldPath(key: $0) },
            precondition: version.map { .updateTime($0) } ?? .exists(false))
    }

    static func sequences(in fields: [String: Value]) -> Set<Int64> {
        Set(fields["commit"]?.arrayValue?.compactMap(\.integerValue) ?? [])
    }
}

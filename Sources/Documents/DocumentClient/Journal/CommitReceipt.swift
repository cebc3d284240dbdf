public import DocumentModel

/// A document, written only by this replica, with which the replica signs its commits.
///
/// In the same commit as the mutations, their sequence numbers are written to its field `commit`.
/// If the response to a commit is lost, the receipt shows with certainty whether the commit took
/// effect, even for increments, which leave no trace of their author. Without a receipt a commit is
/// recognized by its result, which is exact unless another client made an equal change of the same
/// version.
public struct CommitReceipt: Sendable, Hashable {
    /// The name of the document.
    public let document: DocumentName
    /// Further fields that the document must have, such as the owner that security rules require.
    public let fields: [String: Value]

    /// Whether every commit is signed, rather than only those with transforms other than server
    /// timestamps.
    public let signsAll: Bool

    /// Creates a receipt.
    public init(document: DocumentName, fields: [String: Value] = [:], signsAll: Bool = true) {
        self.document = document
        self.fields = fields
        self.signsAll = signsAll
    }

    func signs(_ mutation: Mutation) -> Bool {
        signsAll || mutation.transforms.contains { $0.operation != .serverTimestamp }
    }

    /// Returns the write that signs a commit.
    ///
    /// - Parameter version: the present version of the receipt, so that a commit that arrives twice
    ///   or late changes nothing.
    func write(for sequences: [Int64], version: Timestamp?) -> Write {
        var content = fields
        content["commit"] = .array(sequences.map { .integer($0) })
        let mask = content.keys.sorted().map { FieldPath(key: $0) }
        return Write(
            .update(document, fields: content), mask: mask,
            precondition: version.map { .updateTime($0) } ?? .exists(false))
    }

    /// Returns a write that only shows whether the remote accepts receipts, without changing the
    /// last signature.
    func probe(version: Timestamp?) -> Write {
        Write(
            .update(document, fields: fields), mask: fields.keys.sorted().map { FieldPath(key: $0) },
            precondition: version.map { .updateTime($0) } ?? .exists(false))
    }

    static func sequences(in fields: [String: Value]) -> Set<Int64> {
        Set(fields["commit"]?.arrayValue?.compactMap(\.integerValue) ?? [])
    }
}

/// Receipts whose documents are named after replicas, so that each replica has one of its own.
public struct CommitReceipts: Sendable, Hashable {
    private let collection: String
    private let fields: [String: Value]

    /// Creates receipts for commits with increments and other transforms that must be counted once.
    ///
    /// - Parameters:
    ///   - collection: the path of the collection of the documents.
    ///   - fields: further fields that they must have, such as the owner that security rules
    ///     require.
    public init(collection: String, fields: [String: Value] = [:]) {
        self.collection = collection
        self.fields = fields
    }

    func receipt(of replica: String, in database: DatabaseName) throws -> CommitReceipt {
        CommitReceipt(
            document: try DocumentName(database: database, collection: collection, id: replica), fields: fields,
            signsAll: false)
    }
}

import DocumentModel

/// A replica's knowledge of the remote's version of a document.
enum Base: Sendable, Hashable {
    /// Never received, so the document may or may not exist.
    case unknown
    /// Known not to exist.
    case missing
    case exists(fields: [String: Value], updateTime: Timestamp)

    var fields: [String: Value]? { if case .exists(let fields, _) = self { fields } else { nil } }
    var updateTime: Timestamp? { if case .exists(_, let time) = self { time } else { nil } }
}

extension Mutation {
    /// Whether the mutation changes some fields of a document and leaves the others unchanged.
    var hasMask: Bool { kind == .merge || kind == .update }

    /// Whether a commit must wait until the base has been read, because a precondition cannot be
    /// chosen otherwise.
    func needsRead(on base: Base) -> Bool {
        guard base == .unknown else { return false }
        return switch kind {
        case .create: false
        case .set, .merge, .update, .delete: true
        }
    }

    /// Returns this mutation with a signature: the number of this replica's mutation, recorded in
    /// the document. The signature is also added to a mutation that only has companions, so that a
    /// commit of displaced values is made only once.
    func signed(in field: String, by replica: String, number: Int64, on base: Base) -> Mutation {
        if kind == .delete || isOnlyCompanions && base.fields == nil { return self }
        let path = FieldPath(key: field).appending(replica)
        let isIncluded = !hasMask || mask.contains { $0.isPrefix(of: path) }
        var fields = fields
        fields.setValue(.integer(number), at: path.segments[...])
        return Mutation(
            kind, name, fields: fields, mask: isIncluded ? mask : mask + [path], transforms: transforms,
            companions: companions)
    }

    /// Returns the writes that apply this mutation to exactly `base`. Each has a precondition, so
    /// that applying them twice fails.
    func writes(on base: Base) -> [Write] {
        if isOnlyCompanions { return companions }
        let write: Write
        switch (kind, base) {
        case (.delete, .exists(_, let time)):
            write = Write(.delete(name), precondition: .updateTime(time))
        case (.delete, _):
            write = Write(.verify(name), precondition: .exists(false))
        case (.create, .exists(_, let time)), (.set, .exists(_, let time)):
            write = Write(.update(name, fields: fields), transforms: transforms, precondition: .updateTime(time))
        case (.merge, .exists(_, let time)), (.update, .exists(_, let time)):
            write = Write(
                .update(name, fields: fields), mask: mask, transforms: transforms, precondition: .updateTime(time))
        case (.create, _), (.set, _), (.merge, _), (.update, _):
            write = Write(.update(name, fields: fields), transforms: transforms, precondition: .exists(false))
        }
        return [write] + companions
    }
}

import DocumentModel

/// What a replica knows of the remote's version of a document.
enum Base: Sendable, Hashable {
    /// Never seen, so it may or may not exist.
    case unknown
    /// Known not to exist.
    case missing
    case exists(fields: [String: Value], updateTime: Timestamp)

    var fields: [String: Value]? { if case .exists(let fields, _) = self { fields } else { nil } }
    var updateTime: Timestamp? { if case .exists(_, let time) = self { time } else { nil } }
}

extension Mutation {
    /// Whether it changes some fields of a document and leaves the others.
    var hasMask: Bool { kind == .merge || kind == .update }

    /// Whether a commit must wait until the base has been read: a precondition could not be chosen otherwise.
    func needsRead(on base: Base) -> Bool {
        guard base == .unknown else { return false }
        return switch kind {
        case .create: false
        case .set, .merge, .update, .delete: true
        }
    }

    /// The same, noting in the document that it has this replica's mutation of this number. What is displaced is told together with
    /// that, so that a commit of nothing else is done once, too.
    func signed(in field: String, by replica: String, number: Int64, on base: Base) -> Mutation {
        if kind == .delete || isOnlyCompanions && base.fields == nil { return self }
        let path = FieldPath(key: field).appending(replica)
        let isTold = !hasMask || mask.contains { $0.isPrefix(of: path) }
        var fields = fields
        fields.setValue(.integer(number), at: path.segments[...])
        return Mutation(
            kind, name, fields: fields, mask: isTold ? mask : mask + [path], transforms: transforms,
            companions: companions)
    }

    /// The writes that carry this mutation out on exactly `base`; each has a precondition, so that doing it twice fails.
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

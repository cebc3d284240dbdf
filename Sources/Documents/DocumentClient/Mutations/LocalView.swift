import DocumentModel

/// A document's content as this replica sees it: a base with mutations applied.
struct LocalView: Sendable, Hashable {
    /// nil: the document does not exist.
    var fields: [String: Value]?
    /// Fields that will hold the commit's time, with the value before (nil: none). `fields` still has that value.
    var pendingTimes: [FieldPath: Value?] = [:]

    init(fields: [String: Value]?) { self.fields = fields }

    mutating func apply(_ mutation: Mutation) {
        switch mutation.kind {
        case .delete:
            fields = nil
            pendingTimes = [:]
            return
        case .create, .set:
            fields = mutation.fields
            pendingTimes = [:]
        case .merge, .update:
            if mutation.isOnlyCompanions { return }
            fields = mutation.masked(over: fields ?? [:])
            guard !pendingTimes.isEmpty else { break }
            // Also beneath what is set or removed as a whole.
            let mask = Set(mutation.mask)
            for time in pendingTimes.keys where time.prefixes.contains(where: mask.contains) {
                pendingTimes[time] = nil
            }
        }
        for transform in mutation.transforms { apply(transform, of: mutation.name) }
    }

    private mutating func apply(_ transform: FieldTransform, of name: DocumentName) {
        let path = transform.path.segments[...]
        if case .serverTimestamp = transform.operation {
            // A second pending time of the same field goes back to the value that the remote knows.
            if !pendingTimes.keys.contains(transform.path) {
                pendingTimes.updateValue(fields?.value(at: path), forKey: transform.path)
            }
        } else {
            // What the remote would refuse changes nothing here; the mutation will be parked with the remote's reason.
            fields = fields.map { transform.applied(to: $0, of: name) }
        }
    }
}

extension FieldTransform {
    /// `fields` after this transform, as the remote would compute it.
    fileprivate func applied(to fields: [String: Value], of name: DocumentName) -> [String: Value] {
        let document = Document(name: name, fields: fields, createTime: .distantPast, updateTime: .distantPast)
        let write = Write(.update(name, fields: [:]), mask: [], transforms: [self])
        return (try? WriteApplication.apply(write, to: document, at: .distantPast))?.document?.fields ?? fields
    }
}

extension Mutation {
    /// `old` with the masked paths set or removed; transforms are left out.
    func masked(over old: [String: Value]) -> [String: Value] {
        var result = old
        for path in mask { result.setValue(fields.value(at: path.segments[...]), at: path.segments[...]) }
        return result
    }

    /// What the user typed: the content on top of `base` with all that the remote computes left as it was.
    func typed(over base: [String: Value]?) -> [String: Value]? {
        switch kind {
        case .delete: return nil
        case .merge, .update: return masked(over: base ?? [:])
        case .create, .set:
            var result = fields
            for transform in transforms {
                let path = transform.path.segments[...]
                if result.value(at: path) == nil, let old = base?.value(at: path) { result.setValue(old, at: path) }
            }
            return result
        }
    }

    /// This mutation followed by `next`, as one; nil if they cannot be one. Both are of the same document, and this one was
    /// never sent.
    func followed(by next: Mutation) -> Mutation? {
        guard copyOf == nil else { return nil }
        let both = companions + next.companions
        switch (kind, next.kind) {
        case (_, .delete):
            return Mutation(.delete, name, companions: both)
        case (.create, .set):
            return Mutation(.create, name, fields: next.fields, transforms: next.transforms, companions: both)
        case (_, .set), (.delete, .create):
            return Mutation(.set, name, fields: next.fields, transforms: next.transforms, companions: both)
        case (.delete, _), (_, .create):
            return nil
        case (.create, _), (.set, _):
            guard canPrecede(next) else { return nil }
            return Mutation(
                kind, name, fields: next.masked(over: fields), transforms: joinedTransforms(with: next),
                companions: both)
        case (.merge, _), (.update, _):
            guard canPrecede(next) else { return nil }
            var paths = mask.filter { old in !next.mask.contains { $0.isPrefix(of: old) } }
            // A path beneath one that is set as a whole goes into that value.
            paths += next.mask.filter { new in !mask.contains { $0 != new && $0.isPrefix(of: new) } }
            return Mutation(
                kind, name, fields: next.masked(over: fields), mask: paths.sorted(),
                transforms: joinedTransforms(with: next), companions: both)
        }
    }

    /// Whether both can be one write: a remote takes a limited number of transforms in one. It applies values first and transforms then. A value that `next` sets within a transformed field, or around
    /// one, would change places with that transform.
    private func canPrecede(_ next: Mutation) -> Bool {
        guard transforms.count + next.transforms.count <= Self.transformLimit else { return false }
        return !transforms.contains { old in
            next.mask.contains { $0 != old.path && ($0.isPrefix(of: old.path) || old.path.isPrefix(of: $0)) }
        }
    }

    private static let transformLimit = 500

    /// The transforms of both, without those of fields that `next` sets or times anew.
    private func joinedTransforms(with next: Mutation) -> [FieldTransform] {
        let timed = next.transforms.filter { $0.operation == .serverTimestamp }.map(\.path)
        return transforms.filter { !next.mask.contains($0.path) && !timed.contains($0.path) } + next.transforms
    }
}

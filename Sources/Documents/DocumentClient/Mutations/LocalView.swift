import DocumentModel

/// A document's content as this replica sees it: a base with mutations applied.
struct LocalView: Sendable, Hashable {
    /// The content; nil if the document does not exist.
    var fields: [String: Value]?
    /// Fields that will contain the commit's time, with their previous value (nil if there was
    /// none), which `fields` still contains.
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
            // Pending times beneath a path that is set or removed are removed too.
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
            // A second pending time of the same field keeps the value that the remote knows as the
            // previous one.
            if !pendingTimes.keys.contains(transform.path) {
                pendingTimes.updateValue(fields?.value(at: path), forKey: transform.path)
            }
        } else {
            // A transform that the remote would refuse changes nothing here. The mutation will be
            // rejected with the remote's reason.
            fields = fields.map { transform.applied(to: $0, of: name) }
        }
    }
}

extension FieldTransform {
    /// Returns `fields` after this transform, as the remote would compute them.
    fileprivate func applied(to fields: [String: Value], of name: DocumentName) -> [String: Value] {
        let document = Document(name: name, fields: fields, createTime: .distantPast, updateTime: .distantPast)
        let write = Write(.update(name, fields: [:]), mask: [], transforms: [self])
        return (try? WriteApplication.apply(write, to: document, at: .distantPast))?.document?.fields ?? fields
    }
}

extension Mutation {
    /// Returns `old` with the masked paths set or removed. Transforms are not applied.
    func masked(over old: [String: Value]) -> [String: Value] {
        var result = old
        for path in mask { result.setValue(fields.value(at: path.segments[...]), at: path.segments[...]) }
        return result
    }

    /// Returns the content that the user specified: this mutation applied to `base`, with computed
    /// fields unchanged.
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

    /// Returns this mutation and `next` combined into one; nil if that is not possible. Both
    /// concern the same document, and this one was never sent.
    func followed(by next: Mutation) -> Mutation? {
        guard copyOf == nil, companions.isEmpty || companions.count + next.companions.count <= Self.companionLimit
        else { return nil }
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
            // A path beneath one that is set as a whole becomes part of that value.
            paths += next.mask.filter { new in !mask.contains { $0 != new && $0.isPrefix(of: new) } }
            return Mutation(
                kind, name, fields: next.masked(over: fields), mask: paths.sorted(),
                transforms: joinedTransforms(with: next), companions: both)
        }
    }

    /// Whether both mutations can be combined into one write.
    ///
    /// A remote limits the number of transforms per write. It applies values before transforms, so
    /// a value that `next` sets within or around a transformed field would be applied in the wrong
    /// order.
    private func canPrecede(_ next: Mutation) -> Bool {
        guard transforms.count + next.transforms.count <= Self.transformLimit else { return false }
        return !transforms.contains { old in
            next.mask.contains { $0 != old.path && ($0.isPrefix(of: old.path) || old.path.isPrefix(of: $0)) }
        }
    }

    private static let transformLimit = 500

    /// The most history writes that one mutation carries. Remotes accept 500 writes at once.
    private static let companionLimit = 200

    /// Returns the transforms of both mutations, except those of fields that `next` sets or sets to
    /// a new server timestamp.
    private func joinedTransforms(with next: Mutation) -> [FieldTransform] {
        let timed = next.transforms.filter { $0.operation == .serverTimestamp }.map(\.path)
        return transforms.filter { !next.mask.contains($0.path) && !timed.contains($0.path) } + next.transforms
    }
}

import DocumentModel

/// One merge of the fields of two versions, neither of which is deleted.
struct FieldMerge {
    private let base: [String: Value]
    private let hasBase: Bool
    private let mine: [String: Value]
    private let theirs: [String: Value]
    private let policy: MergePolicy
    private var result: [String: Value] = [:]
    private var displaced: [DisplacedValue] = []

    init(base: [String: Value]?, mine: [String: Value], theirs: [String: Value], policy: MergePolicy) {
        self.base = base ?? [:]
        hasBase = base != nil
        self.mine = mine
        self.theirs = theirs
        self.policy = policy
    }

    /// Whether the fields differ in anything except server times and origins. Moving the document
    /// to the trash, or out of it, counts.
    static func isEdited(_ fields: [String: Value], from base: [String: Value], policy: MergePolicy) -> Bool {
        if let deletion = policy.deletion, (fields[deletion] == nil) != (base[deletion] == nil) { return true }
        return Set(fields.keys).union(base.keys).contains { key in
            !policy.isBookkeeping(key) && fields[key] != base[key]
        }
    }

    mutating func run() -> MergeResult {
        let keys = Set(mine.keys).union(theirs.keys).union(base.keys)
        let grouped = Set(policy.groups.joined().filter { $0.segments.count == 1 }.map { $0.segments[0] })
        for key in keys.sorted() where key != policy.deletion && !grouped.contains(key) { mergeField(key) }
        for group in policy.groups { mergeGroup(group) }
        mergeDeletion()
        for key in keys where policy.kind(of: key) == .origins { mergeOrigins(key) }
        displaced.sort { $0.field < $1.field }
        return MergeResult(fields: result, displaced: displaced)
    }

    private func groupedElements(of key: String) -> Set<String> {
        Set(policy.groups.joined().filter { $0.segments.count == 2 && $0.segments[0] == key }.map { $0.segments[1] })
    }

    private mutating func mergeField(_ key: String) {
        let (b, m, t) = (base[key], mine[key], theirs[key])
        switch policy.kind(of: key) {
        case .serverTime: result[key] = t ?? m
        case .origins: return
        case .map where isMap(b) && isMap(m) && isMap(t):
            let elements = mergeMap(key, b?.mapValue ?? [:], m?.mapValue ?? [:], t?.mapValue ?? [:])
            // An empty map that both sides have is kept. If one side lacks it, the field is absent.
            if !elements.isEmpty || (m != nil && t != nil) { result[key] = .map(elements) }
        case let kind:
            if let uncontested = uncontested(FieldPath(key: key), b, m, t) {
                result[key] = uncontested.value
            } else {
                result[key] = mergeConflict(key, kind, b, m, t)
            }
        }
    }

    private func isMap(_ value: Value?) -> Bool { value == nil || value?.mapValue != nil }

    /// Returns the outcome if at most one side changed a value, or if both made the same change;
    /// nil if they disagree.
    private func uncontested(_ path: FieldPath, _ b: Value?, _ m: Value?, _ t: Value?) -> Outcome? {
        if m == t || (t == b && !isRemoved(path, in: theirs)) { return Outcome(value: m) }
        return m == b && !isRemoved(path, in: mine) ? Outcome(value: t) : nil
    }

    /// Whether a version without a base records in its origins that a value which it lacks was
    /// removed.
    private func isRemoved(_ path: FieldPath, in fields: [String: Value]) -> Bool {
        !hasBase && origin(of: path, in: fields) != nil && fields.value(at: path.segments[...]) == nil
    }

    private struct Outcome {
        /// The merged value; nil if the field is absent.
        var value: Value?
    }

    private mutating func mergeConflict(
        _ key: String, _ kind: MergePolicy.Kind, _ b: Value?, _ m: Value?, _ t: Value?
    ) -> Value? {
        switch (kind, m ?? .null, t ?? .null) {
        case (.set, .array(let mine), .array(let theirs)):
            return .array(Self.mergeSet(b?.arrayValue ?? [], mine, theirs))
        case (.set, .array(let mine), .null) where t == nil:
            return Self.nonEmpty(Self.mergeSet(b?.arrayValue ?? [], mine, []))
        case (.set, .null, .array(let theirs)) where m == nil:
            return Self.nonEmpty(Self.mergeSet(b?.arrayValue ?? [], [], theirs))
        case (.text, .string(let mine), .string(let theirs)):
            let merged = TextMerge(base: b?.stringValue ?? "", mine: mine, theirs: theirs)
            if merged.hasConflict { displace(FieldPath(key: key), t, .theirs, .overlappingText) }
            return .string(merged.text)
        default:
            return later(FieldPath(key: key), m, t)
        }
    }

    /// Returns the value that was set later and displaces the other one. Mine is the later one
    /// unless the origins say otherwise.
    private mutating func later(_ path: FieldPath, _ mine: Value?, _ theirs: Value?) -> Value? {
        if let isMine = isMineGreater([path], mine, theirs) {
            displace(path, isMine ? theirs : mine, isMine ? .theirs : .mine, .replaced)
            return isMine ? mine : theirs
        }
        let isMine = isMineLater([path]) ?? true
        displace(path, isMine ? theirs : mine, isMine ? .theirs : .mine, .changedOnBothSides)
        return isMine ? mine : theirs
    }

    /// Compares the times that the server recorded for a value.
    ///
    /// Returns nil if the times do not decide, and if there is a base: then `mine` is the later
    /// side because it commits later.
    private func isMineLater(_ paths: [FieldPath]) -> Bool? {
        guard !hasBase, let theirTime = paths.compactMap({ time(of: $0, in: theirs) }).max() else { return nil }
        var mineTime = Timestamp.distantPast
        for path in paths {
            guard let time = time(of: path, in: mine) else { return true }
            mineTime = max(mineTime, time)
        }
        return mineTime == theirTime ? nil : mineTime > theirTime
    }

    /// Returns the time at which the server committed the value; nil if it has not been committed
    /// or the time is unknown.
    private func time(of path: FieldPath, in fields: [String: Value]) -> Timestamp? {
        let recorded = origin(of: path, in: fields).map {
            policy.time(in: $0, of: fields.value(at: path.segments[...]))
        }
        let time = recorded ?? policy.creation.flatMap { fields[$0]?.timestampValue }
        return time == MergePolicy.pendingTime ? nil : time
    }

    private func origin(of path: FieldPath, in fields: [String: Value]) -> [String: Value]? {
        let key = policy.kinds.first { $0.value == .origins }?.key
        return key.flatMap { fields[$0]?.mapValue?[path.description]?.mapValue }
    }

    private static func nonEmpty(_ values: [Value]) -> Value? { values.isEmpty ? nil : .array(values) }

    /// Returns the elements of `theirs` without those that `mine` removed, followed by those that
    /// `mine` added. A removal affects only elements that were in `base`.
    private static func mergeSet(_ base: [Value], _ mine: [Value], _ theirs: [Value]) -> [Value] {
        let (known, kept) = (Set(base), Set(mine))
        var present = Set<Value>()
        let left = theirs.filter { kept.contains($0) || !known.contains($0) }.filter { present.insert($0).inserted }
        return left + mine.filter { !known.contains($0) && present.insert($0).inserted }
    }

    private mutating func mergeMap(
        _ key: String, _ base: [String: Value], _ mine: [String: Value], _ theirs: [String: Value]
    ) -> [String: Value] {
        var merged: [String: Value] = [:]
        let grouped = groupedElements(of: key)
        for element in Set(mine.keys).union(theirs.keys).sorted() where !grouped.contains(element) {
            let (b, m, t) = (base[element], mine[element], theirs[element])
            let path = FieldPath(key: key).appending(element)
            if let uncontested = uncontested(path, b, m, t) {
                merged[element] = uncontested.value
            } else if let t, isSame(key, m, t) || isSame(key, b, m) {
                // A change in `mine` to one thing yields to the other thing that `theirs` has in
                // its place.
                merged[element] = t
            } else if !hasBase || (m != nil && t != nil) {
                merged[element] = later(path, m, t)
            } else {
                // One side removed the element that the other changed. The removing side had not
                // seen the change, so the change wins.
                merged[element] = m ?? t
            }
        }
        return merged
    }

    /// Whether two elements of a map represent the same thing, for example an attachment that both
    /// sides created.
    private func isSame(_ key: String, _ one: Value?, _ other: Value?) -> Bool {
        guard let identity = policy.identities[key], let one = one?.mapValue, let other = other?.mapValue else {
            return false
        }
        return identity.allSatisfy { one[$0] != nil && one[$0] == other[$0] }
    }

    /// Sets the fields of a group from one side: from `theirs` if it contains all changes of
    /// `mine`, otherwise from the side that changed later.
    private mutating func mergeGroup(_ group: [FieldPath]) {
        func values(_ fields: [String: Value], _ paths: [FieldPath]) -> [Value?] {
            paths.map { fields.value(at: $0.segments[...]) }
        }
        let compared = group.filter { policy.kind(of: $0.segments[0]) != .serverTime }
        let (b, m, t) = (values(base, compared), values(mine, compared), values(theirs, compared))
        let isChanged = !compared.indices.allSatisfy { m[$0] == b[$0] || m[$0] == t[$0] }
        // A side that did not change the group yields to the other one as usual.
        let isContested = isChanged && t != b
        let isMineGreater =
            isContested
            ? isMineGreater(
                group, group.first.flatMap { mine.value(at: $0.segments[...]) },
                group.first.flatMap { theirs.value(at: $0.segments[...]) }) : nil
        let isMine = m != t && isMineGreater ?? isMineLater(compared) ?? isChanged
        for path in group {
            let (mineValue, theirValue) = (
                mine.value(at: path.segments[...]), theirs.value(at: path.segments[...])
            )
            result.setValue(isMine ? mineValue : theirValue, at: path.segments[...])
            let other = isMine ? theirValue : mineValue
            if compared.contains(path), theirValue != mineValue, other != base.value(at: path.segments[...]) {
                displace(
                    path, other, isMine ? .theirs : .mine, isMineGreater == nil ? .changedOnBothSides : .replaced)
            }
        }
    }

    /// Returns whether `mine` is the greater value of a derived field; nil if the field is not
    /// derived, or the values do not decide.
    private func isMineGreater(_ paths: [FieldPath], _ m: Value?, _ t: Value?) -> Bool? {
        guard let derivation = policy.derivation, hasBase, let path = paths.first, derivation.paths.contains(path),
            [mine, theirs].allSatisfy({ $0.value(at: derivation.marker.segments[...]) != nil })
        else { return nil }
        switch (m, t) {
        case (.timestamp(let m)?, .timestamp(let t)?) where m != t: return m > t
        case (.string(let m)?, .string(let t)?) where m != t: return m > t
        default: return nil
        }
    }

    /// Decides whether the merged document is in the trash.
    private mutating func mergeDeletion() {
        guard let key = policy.deletion else { return }
        let (b, m, t) = (base[key], mine[key], theirs[key])
        guard (m == nil) != (t == nil) else {
            result[key] = t
            return
        }
        let isMine = (m == nil) != (b == nil)
        let deleted = isMine ? m : t
        let other = isMine ? theirs : mine
        if let deleted, Self.isEdited(other, from: base, policy: policy) {
            displaced.append(
                DisplacedValue(
                    field: FieldPath(key: key), value: deleted, side: isMine ? .mine : .theirs,
                    reason: .editSurvivesDelete))
            result[key] = nil
        } else {
            result[key] = deleted
        }
    }

    /// Merges the origins: the origin of a value accompanies the value.
    ///
    /// If both sides changed a value, the entry's `rule` records how the result was chosen:
    /// `merged`, or the reason for which the other side's value was displaced.
    private mutating func mergeOrigins(_ key: String) {
        let (b, m) = (base[key]?.mapValue ?? [:], mine[key]?.mapValue ?? [:])
        var merged = theirs[key]?.mapValue ?? [:]
        // If a value carries its own time, its origin can be unchanged although the value is new.
        for (field, origin) in m where origin != b[field] || origin.mapValue?["time"] == nil {
            guard let path = try? FieldPath(parsing: field) else { continue }
            let before = base.value(at: path.segments[...])
            guard origin != b[field] || mine.value(at: path.segments[...]) != before else { continue }
            let there = theirs.value(at: path.segments[...])
            guard result.value(at: path.segments[...]) != there else { continue }
            var origin = origin
            if there != before, case .map(var entry) = origin {
                let reason = displaced.first { $0.field == path }?.reason.rawValue
                entry["rule"] = .string(reason ?? MergePolicy.mergedRule)
                origin = .map(entry)
            }
            merged[field] = origin
        }
        result[key] = merged.isEmpty ? nil : .map(merged)
    }

    private mutating func displace(
        _ field: FieldPath, _ value: Value?, _ side: DisplacedValue.Side, _ reason: DisplacedValue.Reason
    ) {
        displaced.append(DisplacedValue(field: field, value: value, side: side, reason: reason))
    }
}

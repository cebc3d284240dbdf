import DocumentModel

/// One run of a merge over the fields of two living versions.
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

    /// Whether anything but server times differs. A delete or restore of the document counts.
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
            // An empty map that both sides have stays; one that a side does not have is no field.
            if !elements.isEmpty || (m != nil && t != nil) { result[key] = .map(elements) }
        case let kind:
            if let settled = settled(FieldPath(key: key), b, m, t) {
                result[key] = settled.value
            } else {
                result[key] = mergeConflict(key, kind, b, m, t)
            }
        }
    }

    private func isMap(_ value: Value?) -> Bool { value == nil || value?.mapValue != nil }

    /// The outcome where at most one side changed a value, or both alike; nil where they disagree.
    private func settled(_ path: FieldPath, _ b: Value?, _ m: Value?, _ t: Value?) -> Settled? {
        if m == t || (t == b && !isRemoved(path, in: theirs)) { return Settled(value: m) }
        return m == b && !isRemoved(path, in: mine) ? Settled(value: t) : nil
    }

    /// Whether a version without a base tells that a value which it lacks was once there.
    private func isRemoved(_ path: FieldPath, in fields: [String: Value]) -> Bool {
        !hasBase && origin(of: path, in: fields) != nil && fields.value(at: path.segments[...]) == nil
    }

    private struct Settled {
        /// nil: the field is absent.
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

    /// The one of two values that was set later, which is mine unless it is known better; the other is displaced.
    private mutating func later(_ path: FieldPath, _ mine: Value?, _ theirs: Value?) -> Value? {
        let isMine = isMineLater([path]) ?? true
        displace(path, isMine ? theirs : mine, isMine ? .theirs : .mine, .changedOnBothSides)
        return isMine ? mine : theirs
    }

    /// By the times that the remote gave; nil where they do not tell, or say nothing since there is a base: what was made from it comes
    /// after it, and mine after theirs.
    private func isMineLater(_ paths: [FieldPath]) -> Bool? {
        guard !hasBase, let theirTime = paths.compactMap({ time(of: $0, in: theirs) }).max() else { return nil }
        var mineTime = Timestamp.distantPast
        for path in paths {
            guard let time = time(of: path, in: mine) else { return true }
            mineTime = max(mineTime, time)
        }
        return mineTime == theirTime ? nil : mineTime > theirTime
    }

    /// When the remote ordered the value; nil where it is still to do so, or nobody knows.
    private func time(of path: FieldPath, in fields: [String: Value]) -> Timestamp? {
        let told = origin(of: path, in: fields).map { policy.time(in: $0, of: fields.value(at: path.segments[...])) }
        let time = told ?? policy.creation.flatMap { fields[$0]?.timestampValue }
        return time == MergePolicy.pendingTime ? nil : time
    }

    private func origin(of path: FieldPath, in fields: [String: Value]) -> [String: Value]? {
        let key = policy.kinds.first { $0.value == .origins }?.key
        return key.flatMap { fields[$0]?.mapValue?[path.description]?.mapValue }
    }

    private static func nonEmpty(_ values: [Value]) -> Value? { values.isEmpty ? nil : .array(values) }

    /// Theirs without what I removed, then what I added: a removal removes only what it had seen.
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
            if let settled = settled(path, b, m, t) {
                merged[element] = settled.value
            } else if let t, isSame(key, m, t) || isSame(key, b, m) {
                // What I say of a thing gives way to another one in its place.
                merged[element] = t
            } else if !hasBase || (m != nil && t != nil) {
                merged[element] = later(path, m, t)
            } else {
                // One removed what the other changed: the change had not been seen.
                merged[element] = m ?? t
            }
        }
        return merged
    }

    /// Whether two elements of a map are one thing: made by both sides, or as it was.
    private func isSame(_ key: String, _ one: Value?, _ other: Value?) -> Bool {
        guard let identity = policy.identities[key], let one = one?.mapValue, let other = other?.mapValue else {
            return false
        }
        return identity.allSatisfy { one[$0] != nil && one[$0] == other[$0] }
    }

    /// Sets the fields of a group from one side: theirs if it has all that I changed, else the later.
    private mutating func mergeGroup(_ group: [FieldPath]) {
        func values(_ fields: [String: Value], _ paths: [FieldPath]) -> [Value?] {
            paths.map { fields.value(at: $0.segments[...]) }
        }
        let told = group.filter { policy.kind(of: $0.segments[0]) != .serverTime }
        let (b, m, t) = (values(base, told), values(mine, told), values(theirs, told))
        let isChanged = !told.indices.allSatisfy { m[$0] == b[$0] || m[$0] == t[$0] }
        let isMine = m != t && isMineLater(told) ?? isChanged
        for path in group {
            let (mineValue, theirValue) = (
                mine.value(at: path.segments[...]), theirs.value(at: path.segments[...])
            )
            result.setValue(isMine ? mineValue : theirValue, at: path.segments[...])
            let other = isMine ? theirValue : mineValue
            if told.contains(path), theirValue != mineValue, other != base.value(at: path.segments[...]) {
                displace(path, other, isMine ? .theirs : .mine, .changedOnBothSides)
            }
        }
    }

    /// Whether the document is in the trash afterwards.
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

    /// Who set a value goes with the value. Where both sides had changed it, the entry tells how it came about: `rule` is
    /// `merged`, or the reason for which the other side's value was displaced.
    private mutating func mergeOrigins(_ key: String) {
        let (b, m) = (base[key]?.mapValue ?? [:], mine[key]?.mapValue ?? [:])
        var merged = theirs[key]?.mapValue ?? [:]
        // Where a value has its time itself, the entry of a new one may be that of the old.
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

import DocumentModel
import Merge
import Testing

/// Tests the merge laws of the sync model on random documents over a tiny alphabet, so that both
/// sides often change the same fields.
@Suite struct MergeLawTests {
    private typealias Fields = [String: Value]

    private static let seeds: Range<UInt64> = 0..<12

    @Test(arguments: seeds)
    func `merging with an unchanged side gives the other side`(seed: UInt64) {
        forTriples(seed) { base, mine, theirs, story in
            #expect(merge(base, mine, base) == MergeResult(fields: mine), "\(story)")
            #expect(merge(base, base, theirs) == MergeResult(fields: theirs), "\(story)")
            #expect(merge(base, mine, mine) == MergeResult(fields: mine), "\(story)")
        }
    }

    @Test(arguments: seeds)
    func `merging again changes nothing`(seed: UInt64) {
        forTriples(seed) { base, mine, theirs, story in
            let once = merge(base, mine, theirs).fields
            #expect(merge(theirs, once, theirs) == MergeResult(fields: once), "\(story)")
            #expect(merge(mine, mine, once) == MergeResult(fields: once), "\(story)")
        }
    }

    @Test(arguments: seeds)
    func `both orders agree where nothing is displaced`(seed: UInt64) {
        forTriples(seed) { base, mine, theirs, story in
            let (one, other) = (merge(base, mine, theirs), merge(base, theirs, mine))
            #expect(one.displaced.isEmpty == other.displaced.isEmpty, "\(story)")
            guard one.displaced.isEmpty else { return }
            #expect(comparable(one.fields) == comparable(other.fields), "\(story)")
        }
    }

    @Test(arguments: seeds)
    func `each value that a side saved is in the result or displaced`(seed: UInt64) {
        forTriples(seed) { base, mine, theirs, story in
            let result = merge(base, mine, theirs)
            for side in [mine, theirs] {
                guard let side else { continue }
                for (path, value) in changes(from: base ?? [:], to: side) {
                    let isThere = holds(result.fields ?? [:], path, value, base: base ?? [:])
                    let isKept = result.displaced.contains { $0.field == path && $0.value == value }
                    #expect(isThere || isKept, "\(path) \(value) lost, \(story)")
                }
            }
        }
    }

    @Test(arguments: seeds)
    func `without a base the times of the remote decide, whichever side commits later`(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 9000)
        let decided = ["title", "priority", "due", "dueHasTime", "fields"]
        var last: Int64 = 0
        for step in 0..<200 {
            var sides = [Fields](repeating: Self.document(&random), count: 2)
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let index = Int.random(in: 0..<2, using: &random)
                let before = sides[index]
                Self.edit(&sides[index], &random)
                last += 1
                for path in Self.told(from: before, to: sides[index]) {
                    sides[index].setValue(
                        .timestamp(Timestamp(microseconds: last)), at: ["origins", path.description, "time"])
                }
            }
            for index in sides.indices { sides[index]["createdTime"] = .timestamp(Timestamp(microseconds: 0)) }
            let (one, other) = (merge(nil, sides[0], sides[1]), merge(nil, sides[1], sides[0]))
            func outcome(_ result: MergeResult) -> Fields? {
                result.fields?.filter { decided.contains($0.key) && $0.value != .map([:]) }
            }
            #expect(outcome(one) == outcome(other), "seed \(seed) step \(step): \(sides)")
            for side in sides {
                for (path, value) in changes(from: [:], to: side) where decided.contains(path.segments[0]) {
                    let isThere = one.fields?.value(at: path.segments[...]) == value
                    let isKept = one.displaced.contains { $0.field == path && $0.value == value }
                    #expect(isThere || isKept, "\(path) \(value) lost, seed \(seed) step \(step): \(sides)")
                }
            }
        }
    }

    /// Returns the fields that an edit records in `origins`.
    private static func told(from old: Fields, to new: Fields) -> [FieldPath] {
        var paths = ["title", "priority", "due"].filter { old[$0] != new[$0] }.map { FieldPath(key: $0) }
        if old["dueHasTime"] != new["dueHasTime"] { paths.append(FieldPath(key: "due")) }
        let (before, after) = (old["fields"]?.mapValue ?? [:], new["fields"]?.mapValue ?? [:])
        for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
            paths.append(FieldPath(key: "fields").appending(key))
        }
        return paths
    }

    @Test(arguments: seeds)
    func `fields that a policy does not name survive`(seed: UInt64) {
        forTriples(seed) { base, mine, theirs, story in
            guard mine != nil, theirs != nil else { return }
            let result = merge(base, mine, theirs).fields ?? [:]
            #expect(result["kept"] == .geoPoint(GeoPoint(latitude: 1, longitude: 2)), "\(story)")
        }
    }

    @Test(arguments: seeds)
    func `replicas that have exchanged everything are equal and have all writes`(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 5000)
        for _ in 0..<30 {
            var remote: Fields? = Self.document(&random)
            var history: [DisplacedValue] = []
            var replicas = [(base: Fields?, view: Fields?)](repeating: (remote, remote), count: 3)
            func exchange(_ index: Int) {
                let (base, view) = replicas[index]
                if view != base {
                    let result = merge(base, view, remote)
                    history += result.displaced
                    remote = result.fields
                }
                replicas[index] = (remote, remote)
            }
            var written: [String: Value] = [:]
            for step in 0..<Int.random(in: 1...12, using: &random) {
                let index = Int.random(in: 0..<3, using: &random)
                if Bool.random(using: &random) {
                    exchange(index)
                } else if var view = replicas[index].view {
                    // A field that only this replica writes: its last value must arrive whatever
                    // the other replicas do.
                    written["own\(index)"] = .integer(Int64(step))
                    view["own\(index)"] = .integer(Int64(step))
                    Self.edit(&view, &random)
                    replicas[index].view = view
                }
            }
            for index in [0, 1, 2, 0, 1, 2] { exchange(index) }
            #expect(replicas.allSatisfy { $0.view == remote }, "seed \(seed)")
            #expect(written.allSatisfy { remote?[$0.key] == $0.value }, "seed \(seed)")
            #expect(history.allSatisfy { $0.reason != .changedOnBothSides || $0.side == .theirs }, "seed \(seed)")
        }
    }

    // MARK: - Random documents

    private func merge(_ base: Fields?, _ mine: Fields?, _ theirs: Fields?) -> MergeResult {
        DocumentMerge.merge(base: base, mine: mine, theirs: theirs, policy: .tasks)
    }

    private func forTriples(_ seed: UInt64, _ body: (Fields?, Fields?, Fields?, String) -> Void) {
        var random = SeededGenerator(seed: seed)
        for step in 0..<120 {
            let base = Self.document(&random)
            var sides = [base, base]
            for index in sides.indices {
                for _ in 0..<Int.random(in: 0...4, using: &random) { Self.edit(&sides[index], &random) }
            }
            let mine = Int.random(in: 0..<20, using: &random) == 0 ? nil : sides[0]
            let theirs = Int.random(in: 0..<20, using: &random) == 0 ? nil : sides[1]
            body(
                base, mine, theirs,
                "seed \(seed) step \(step): \(base) / \(String(describing: mine)) / \(String(describing: theirs))")
        }
    }

    private static func document(_ random: inout SeededGenerator) -> Fields {
        var fields: Fields = ["kept": .geoPoint(GeoPoint(latitude: 1, longitude: 2)), "title": .string("t")]
        for _ in 0..<4 { edit(&fields, &random) }
        return fields
    }

    private static func edit(_ fields: inout Fields, _ random: inout SeededGenerator) {
        let small = Value.integer(Int64.random(in: 0..<3, using: &random))
        let word = ["a", "b", "c", "d"][Int.random(in: 0..<4, using: &random)]
        switch Int.random(in: 0..<10, using: &random) {
        case 0: fields["title"] = .string(word)
        case 1: fields["priority"] = Bool.random(using: &random) ? small : nil
        case 2: fields["due"] = .timestamp(Timestamp(microseconds: Int64.random(in: 0..<3, using: &random)))
        case 3: fields["dueHasTime"] = .boolean(Bool.random(using: &random))
        case 4:
            var tags = fields["tags"]?.arrayValue ?? []
            if let index = tags.firstIndex(of: .string(word)) {
                tags.remove(at: index)
            } else {
                tags.append(.string(word))
            }
            fields["tags"] = tags.isEmpty ? nil : .array(tags)
        case 5:
            let key = Bool.random(using: &random) ? "due" : word
            fields.setValue(Bool.random(using: &random) ? small : nil, at: ["fields", key])
        case 6: fields.setValue(Bool.random(using: &random) ? .map(["name": small]) : nil, at: ["attachments", word])
        case 7:
            var lines = (fields["notes"]?.stringValue ?? "").split(separator: "\n").map(String.init)
            let place = Int.random(in: 0...lines.count, using: &random)
            if Bool.random(using: &random), place < lines.count {
                lines[place] = "\(word)\(Int.random(in: 0..<100, using: &random))"
            } else {
                lines.insert("\(word)\(Int.random(in: 0..<100, using: &random))", at: place)
            }
            fields["notes"] = .string(lines.map { $0 + "\n" }.joined())
        case 8:
            fields["deletedTime"] =
                Bool.random(using: &random)
                ? .timestamp(Timestamp(microseconds: Int64.random(in: 0..<3, using: &random))) : nil
        default: fields["updatedTime"] = .timestamp(Timestamp(microseconds: Int64.random(in: 0..<9, using: &random)))
        }
    }

    // MARK: - What a side saved

    private func changes(from base: Fields, to side: Fields) -> [(FieldPath, Value)] {
        var found: [(FieldPath, Value)] = []
        for (key, value) in side where value != base[key] {
            switch MergePolicy.tasks.kind(of: key) {
            case .serverTime: continue
            case .map:
                let old = base[key]?.mapValue ?? [:]
                for (element, inner) in value.mapValue ?? [:] where inner != old[element] {
                    found.append((FieldPath(key: key).appending(element), inner))
                }
            default: found.append((FieldPath(key: key), value))
            }
        }
        return found
    }

    /// Whether the result contains the value of a side; for a set or a text, what the side added.
    private func holds(_ result: Fields, _ path: FieldPath, _ value: Value, base: Fields) -> Bool {
        let found = result.value(at: path.segments[...])
        let old = base.value(at: path.segments[...])
        switch (path.segments, value) {
        case (["tags"], .array(let tags)):
            let added = Set(tags).subtracting(old?.arrayValue ?? [])
            return added.isSubset(of: found?.arrayValue ?? [])
        case (["notes"], .string(let text)):
            let added = Set(text.split(separator: "\n")).subtracting((old?.stringValue ?? "").split(separator: "\n"))
            return added.isSubset(of: (found?.stringValue ?? "").split(separator: "\n"))
        default: return found == value
        }
    }

    /// Returns the fields without what depends on the order of two commits: the server times and
    /// the order of tags.
    private func comparable(_ fields: Fields?) -> Fields? {
        guard var fields else { return nil }
        for (key, value) in fields {
            if MergePolicy.tasks.kind(of: key) == .serverTime { fields[key] = .null }
            if key == "tags" {
                fields[key] = .array(
                    (value.arrayValue ?? []).sorted { ($0.stringValue ?? "") < ($1.stringValue ?? "") })
            }
        }
        return fields
    }
}

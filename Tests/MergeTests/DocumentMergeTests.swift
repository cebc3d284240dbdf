import DocumentModel
import Merge
import Testing

@Suite struct DocumentMergeTests {
    private typealias Fields = [String: Value]

    private func merge(_ base: Fields?, _ mine: Fields?, _ theirs: Fields?) -> MergeResult {
        DocumentMerge.merge(base: base, mine: mine, theirs: theirs, policy: .tasks)
    }

    /// Returns `field=value side reason` of each displaced value, in order.
    private func displaced(_ result: MergeResult) -> [String] {
        result.displaced.map {
            "\($0.field)=\($0.value.map { "\(text($0))" } ?? "-") \($0.side.rawValue) \($0.reason.rawValue)"
        }
    }

    private func text(_ value: Value) -> String {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .timestamp(let time): "@\(time.microseconds)"
        default: "\(value)"
        }
    }

    private func tags(_ words: String...) -> Value { .array(words.map { .string($0) }) }
    private func time(_ microseconds: Int64) -> Value { .timestamp(Timestamp(microseconds: microseconds)) }

    @Test func `different fields never conflict`() {
        let base: Fields = ["title": .string("a"), "priority": .integer(1), "x": .null]
        let result = merge(
            base, ["title": .string("b"), "priority": .integer(1), "x": .null],
            ["title": .string("a"), "unknown": .string("u"), "x": .null])
        #expect(result == MergeResult(fields: ["title": .string("b"), "unknown": .string("u"), "x": .null]))
    }

    @Test func `the origin of a value is merged with the value, and records the rule of a merge`() {
        func origins(_ entries: [String: String]) -> Value {
            .map(entries.mapValues { .map(["by": .string($0)]) })
        }
        let base: Fields = ["title": .string("a"), "priority": .integer(1), "notes": .string("1\n2\n3\n")]
        var mine: Fields = ["title": .string("a"), "priority": .integer(0), "notes": .string("1\n2\nthree\n")]
        var theirs: Fields = ["title": .string("b"), "priority": .integer(2), "notes": .string("one\n2\n3\n")]
        mine["origins"] = origins(["priority": "desk", "notes": "desk", "due": "desk"])
        theirs["origins"] = origins(["title": "laptop", "priority": "laptop", "notes": "laptop"])
        let result = merge(base, mine, theirs)
        #expect(
            result.fields?["origins"]
                == .map([
                    "title": .map(["by": .string("laptop")]),
                    "priority": .map(["by": .string("desk"), "rule": .string("changedOnBothSides")]),
                    "notes": .map(["by": .string("desk"), "rule": .string("merged")]),
                ]))
        #expect(displaced(result) == ["priority=2 theirs changedOnBothSides"])
        // An origin alone is no edit, so it does not prevent a deletion.
        var deleted = base
        deleted["deletedTime"] = time(9)
        var looked = base
        looked["origins"] = origins(["title": "desk"])
        #expect(merge(base, looked, deleted).fields?["deletedTime"] == time(9))
        #expect(merge(base, looked, deleted).displaced.isEmpty)
    }

    @Test func `of one scalar the later commit wins and the other is displaced`() {
        let result = merge(["title": .string("a")], ["title": .string("mine")], ["title": .string("theirs")])
        #expect(result.fields == ["title": .string("mine")])
        #expect(displaced(result) == ["title=theirs theirs changedOnBothSides"])
        #expect(merge(["title": .string("a")], ["title": .string("b")], ["title": .string("b")]).displaced.isEmpty)
        let removed = merge(["n": .integer(1)], ["z": .integer(0)], ["n": .integer(2)])
        #expect(removed.fields == ["z": .integer(0)])
        #expect(displaced(removed) == ["n=2 theirs changedOnBothSides"])
    }

    @Test func `without a base the value that the remote ordered later wins, and a later removal is kept`() {
        func version(_ fields: Fields, _ times: [String: Int64]) -> Fields {
            let origins = times.mapValues { Value.map(["time": time($0)]) }
            return fields.merging(["createdTime": time(1), "origins": .map(origins)]) { $1 }
        }
        let mine = version(
            ["title": .string("mine"), "x": .integer(1), "attachments": .map(["a": .string("new")])],
            ["title": 5, "due": 9, "attachments.a": 7])
        let theirs = version(
            ["title": .string("theirs"), "x": .integer(2), "due": time(3), "attachments": .map(["a": .string("old")])],
            ["x": 4, "due": 2])
        let expected = version(
            ["title": .string("mine"), "x": .integer(2), "attachments": .map(["a": .string("new")])], [:])
        for (result, side) in [(merge(nil, mine, theirs), "theirs"), (merge(nil, theirs, mine), "mine")] {
            let other = side == "mine" ? "theirs" : "mine"
            #expect(result.fields?.filter { $0.key != "origins" } == expected.filter { $0.key != "origins" })
            #expect(
                displaced(result) == [
                    "attachments.a=old \(side) changedOnBothSides", "due=@3 \(side) changedOnBothSides",
                    "title=theirs \(side) changedOnBothSides", "x=1 \(other) changedOnBothSides",
                ])
        }
        // A value that no remote has ordered yet is later than all ordered ones.
        var pending = theirs
        pending.setValue(.timestamp(MergePolicy.pendingTime), at: ["origins", "title", "time"])
        #expect(merge(nil, pending, mine).fields?["title"] == .string("theirs"))
        // A value may contain its own time.
        func attached(_ name: String, _ seconds: Int64) -> Fields {
            let file = Value.map(["name": .string(name), "createdTime": time(seconds)])
            return ["attachments": .map(["b": file]), "origins": .map(["attachments.b": .map(["by": .string(name)])])]
        }
        let (early, late) = (attached("early", 2), attached("late", 7))
        for sides in [(early, late), (late, early)] {
            #expect(merge(nil, sides.0, sides.1).fields?["attachments"] == late["attachments"])
            #expect(
                merge(nil, sides.0, sides.1).fields?["origins"]?.mapValue?["attachments.b"]?.mapValue?["by"]
                    == .string("late"))
        }
        // The same device attached the file twice, so its entry is the same; another device
        // attached it in between.
        let again = merge(early, attached("early", 9), late)
        #expect(again.fields?["origins"]?.mapValue?["attachments.b"]?.mapValue?["by"] == .string("early"))
        // With a base `mine` is later, whatever the times are.
        #expect(merge(version([:], [:]), theirs, mine).fields?["title"] == .string("theirs"))
    }

    @Test func `tags merge one by one`() {
        let result = merge(["tags": tags("a", "b", "c")], ["tags": tags("b", "c", "m")], ["tags": tags("a", "t", "c")])
        #expect(result == MergeResult(fields: ["tags": tags("t", "c", "m")]))
        let emptied = merge(["tags": tags("a")], [:], ["tags": tags("a", "t")])
        #expect(emptied.fields == ["tags": tags("t")])
        #expect(merge(["tags": tags("a", "b")], [:], ["tags": tags("b")]).fields == [:])
        #expect(merge(nil, ["tags": tags("a")], ["tags": tags("b", "a")]).fields == ["tags": tags("b", "a")])
    }

    @Test func `custom fields and attachments merge by element, and a change beats a removal that had not seen it`() {
        func fields(_ map: Fields) -> Fields { ["fields": .map(map)] }
        let base = fields(["a": .integer(1), "b": .integer(1), "c": .integer(1), "d": .integer(1)])
        let mine = fields(["a": .integer(2), "b": .integer(1), "d": .integer(5), "m": .integer(9)])
        let theirs = fields(["a": .integer(3), "c": .integer(4), "d": .integer(1), "t": .integer(8)])
        let result = merge(base, mine, theirs)
        #expect(
            result.fields
                == fields(["a": .integer(2), "c": .integer(4), "d": .integer(5), "m": .integer(9), "t": .integer(8)]))
        #expect(displaced(result) == ["fields.a=3 theirs changedOnBothSides"])
        #expect(merge(base, [:], ["title": .string("x")].merging(base) { $1 }).fields == ["title": .string("x")])
    }

    @Test func `an attachment that both sides made of one file is theirs, and nothing is displaced`() {
        func file(_ name: String, _ sha256: String?, _ time: Int64) -> Value {
            var fields: Fields = ["name": .string(name), "createdTime": self.time(time)]
            fields["sha256"] = sha256.map { .string($0) }
            return .map(fields)
        }
        func fields(_ value: Value) -> Fields { ["attachments": .map(["x": value])] }
        let same = merge([:], fields(file("a", "1", 5)), fields(file("a", "1", 3)))
        #expect(same == MergeResult(fields: fields(file("a", "1", 3))))
        let replaced = merge(fields(file("a", "0", 1)), fields(file("a", "1", 5)), fields(file("a", "1", 3)))
        #expect(replaced == MergeResult(fields: fields(file("a", "1", 3))))
        for other in [file("a", "2", 3), file("b", "1", 3), file("a", nil, 3)] {
            let apart = merge([:], fields(file("a", "1", 5)), fields(other))
            #expect(apart.fields == fields(file("a", "1", 5)) && apart.displaced.count == 1)
        }
        let unknown = merge([:], fields(file("a", nil, 5)), fields(file("a", nil, 3)))
        #expect(unknown.displaced.count == 1)
    }

    @Test func `changes of an attachment yield to another file of the other side`() {
        func fields(_ sha256: String, _ told: Fields = [:]) -> Fields {
            let file: Fields = ["name": .string("a"), "sha256": .string(sha256)]
            return ["attachments": .map(["x": .map(file.merging(told) { $1 })])]
        }
        let replaced = merge(fields("1"), fields("1", ["damaged": .boolean(true)]), fields("2"))
        #expect(replaced == MergeResult(fields: fields("2")))
        let alike = merge(fields("1"), fields("1", ["damaged": .boolean(true)]), fields("1"))
        #expect(alike.fields == fields("1", ["damaged": .boolean(true)]))
        // The later of the two files wins, and the other one is kept as displaced.
        let both = merge(fields("1"), fields("3"), fields("2"))
        #expect(both.fields == fields("3") && both.displaced.count == 1)
        let mine = merge(fields("1"), fields("2"), fields("1", ["damaged": .boolean(true)]))
        #expect(mine.fields == fields("2"))
    }

    @Test func `notes merge by lines, and overlapping ones go to history whole`() {
        let base: Fields = ["notes": .string("a\nb\nc\n")]
        let clean = merge(base, ["notes": .string("A\nb\nc\n")], ["notes": .string("a\nb\nC\n")])
        #expect(clean == MergeResult(fields: ["notes": .string("A\nb\nC\n")]))
        let overlap = merge(base, ["notes": .string("a\nM\nc\n")], ["notes": .string("a\nT\nc\nx\n")])
        #expect(overlap.fields?["notes"] != nil)
        #expect(displaced(overlap) == ["notes=a\nT\nc\nx\n theirs overlappingText"])
        let both = merge([:], ["notes": .string("m")], ["notes": .string("t")])
        #expect(both.fields == ["notes": .string("m")])
        #expect(displaced(both) == ["notes=t theirs overlappingText"])
        let gone = merge(base, [:], ["notes": .string("T")])
        #expect(gone.fields == [:])
        #expect(displaced(gone) == ["notes=T theirs changedOnBothSides"])
    }

    @Test func `a due date comes from one side with all fields that represent it`() {
        let base: Fields = ["due": time(0), "dueHasTime": .boolean(false)]
        let mine: Fields = ["due": time(1), "dueHasTime": .boolean(false)]
        let theirs: Fields = [
            "due": time(2), "dueHasTime": .boolean(true), "fields": .map(["due": .string("T"), "k": .null]),
        ]
        let result = merge(base, mine, theirs)
        #expect(result.fields == mine.merging(["fields": .map(["k": .null])]) { $1 })
        #expect(
            displaced(result) == [
                "due=@2 theirs changedOnBothSides", "dueHasTime=true theirs changedOnBothSides",
                "fields.due=T theirs changedOnBothSides",
            ])
    }

    @Test func `server times are not edits and are never displaced`() {
        let base: Fields = ["title": .string("a"), "updatedTime": time(1)]
        let mine: Fields = ["title": .string("b"), "updatedTime": time(2)]
        let theirs: Fields = ["title": .string("a"), "updatedTime": time(3)]
        #expect(merge(base, mine, theirs) == MergeResult(fields: ["title": .string("b"), "updatedTime": time(3)]))
        let done: Fields = ["completed": .boolean(true), "completedTime": time(5)]
        let result = merge([:], ["completed": .boolean(true), "x": .null], done)
        #expect(result == MergeResult(fields: done.merging(["x": .null]) { $1 }))
    }

    @Test func `an edit survives a delete, whichever came first`() {
        let base: Fields = ["title": .string("a"), "updatedTime": time(1)]
        let edited: Fields = ["title": .string("b"), "updatedTime": time(2)]
        let trashed: Fields = ["title": .string("a"), "deletedTime": time(3), "updatedTime": time(3)]
        let late = merge(base, edited, trashed)
        #expect(late.fields?["title"] == .string("b"))
        #expect(late.fields?["deletedTime"] == nil)
        #expect(displaced(late) == ["deletedTime=@3 theirs editSurvivesDelete"])
        let early = merge(base, trashed, edited)
        #expect(early.fields?["title"] == .string("b"))
        #expect(early.fields?["deletedTime"] == nil)
        #expect(displaced(early) == ["deletedTime=@3 mine editSurvivesDelete"])
        #expect(displaced(merge(base, edited, nil)) == ["__name__=- theirs editSurvivesDelete"])
        #expect(merge(base, edited, nil).fields == edited)
        #expect(merge(base, nil, edited).fields == edited)
    }

    @Test func `a delete without a concurrent edit is kept`() {
        let base: Fields = ["title": .string("a"), "updatedTime": time(1)]
        let touched: Fields = ["title": .string("a"), "updatedTime": time(2)]
        let trashed: Fields = ["title": .string("a"), "deletedTime": time(3)]
        #expect(merge(base, trashed, touched).fields?["deletedTime"] == time(3))
        #expect(merge(base, touched, trashed).fields?["deletedTime"] == time(3))
        #expect(merge(base, nil, touched) == MergeResult(fields: nil))
        #expect(merge(base, nil, nil) == MergeResult(fields: nil))
        #expect(merge(nil, nil, touched) == MergeResult(fields: touched))
        #expect(
            merge(base, trashed, ["title": .string("a"), "deletedTime": time(9)]).fields?["deletedTime"] == time(9))
    }

    @Test func `a restore beats a task that stayed in the trash, and a purge`() {
        let trashed: Fields = ["title": .string("a"), "deletedTime": time(3)]
        let restored: Fields = ["title": .string("a")]
        #expect(
            merge(trashed, restored, ["title": .string("b"), "deletedTime": time(3)]).fields == ["title": .string("b")])
        #expect(
            merge(trashed, ["title": .string("b"), "deletedTime": time(3)], restored).fields == ["title": .string("b")])
        #expect(merge(trashed, restored, nil).fields == restored)
    }

    @Test func `fields of unexpected types are scalars`() {
        let result = merge(
            ["tags": .string("a"), "fields": .integer(1), "notes": .null],
            ["tags": tags("m"), "fields": .integer(2), "notes": .integer(3)],
            ["tags": .string("t"), "fields": .map([:]), "notes": .string("n")])
        #expect(result.fields == ["tags": tags("m"), "fields": .integer(2), "notes": .integer(3)])
        #expect(result.displaced.map(\.field.description) == ["fields", "notes", "tags"])
    }

    @Test func `the users of a shared list are merged`() {
        let result = DocumentMerge.merge(
            base: ["name": .string("W"), "sharedWith": tags("a")],
            mine: ["name": .string("W"), "sharedWith": tags("a", "b")],
            theirs: ["name": .string("Work"), "sharedWith": tags("c")], policy: .lists)
        #expect(result == MergeResult(fields: ["name": .string("Work"), "sharedWith": tags("c", "b")]))
    }
}

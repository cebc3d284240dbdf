import DocumentModel
import DocumentStore

extension DocumentStoreContract {
    static let writing = [
        DocumentStoreContract("a document is returned as it was set, with its times") { test in
            let time = try await test.set(
                "a/1", ["n": .integer(1), "m": .map(["x": .array([.null, .boolean(true)])])])
            let document = try await test.document("a/1")
            try requireEqual(document?.fields["n"], .integer(1), "the field")
            try requireEqual(document?.fields["m"], .map(["x": .array([.null, .boolean(true)])]), "the map")
            try requireEqual(document?.createTime, time, "the create time")
            try requireEqual(document?.updateTime, time, "the update time")
        },
        DocumentStoreContract("a missing document is nil and its delete is no error") { test in
            try requireEqual(try await test.document("a/none"), nil, "a missing document")
            let first = try await test.delete("a/none")
            let second = try await test.delete("a/none")
            try require(first < second, "commit times must grow")
        },
        DocumentStoreContract("an update keeps the create time, a delete and set do not") { test in
            let created = try await test.set("a/1", ["n": .integer(1)])
            let updated = try await test.set("a/1", ["n": .integer(2)])
            try requireEqual(try await test.document("a/1")?.createTime, created, "the create time")
            try requireEqual(try await test.document("a/1")?.updateTime, updated, "the update time")
            try await test.delete("a/1")
            let again = try await test.set("a/1", ["n": .integer(2)])
            try requireEqual(try await test.document("a/1")?.createTime, again, "the new create time")
        },
        DocumentStoreContract("a mask changes only its paths") { test in
            try await test.set("a/1", ["keep": .integer(1), "m": .map(["a": .integer(1), "b": .integer(2)])])
            try await test.set("a/1", ["m": .map(["a": .integer(9)]), "other": .integer(3)], mask: ["m.a", "gone"])
            let fields = try await test.fields("a/1")
            try requireEqual(
                fields, ["keep": .integer(1), "m": .map(["a": .integer(9), "b": .integer(2)])], "the masked document")
        },
        DocumentStoreContract("a present but empty mask creates an empty document") { test in
            try await test.set("a/1", ["ignored": .integer(1)], mask: [])
            try requireEqual(try await test.fields("a/1"), [:], "the touched document")
        },
        DocumentStoreContract("preconditions are kept, with the words that clients look for") { test in
            try await requireRefusal(.notFound, "No document to update: ", "an update of nothing") {
                try await test.set("a/1", [:], precondition: .exists(true))
            }
            let time = try await test.set("a/1", ["n": .integer(1)], precondition: .exists(false))
            try await requireRefusal(.alreadyExists, "Document already exists: ", "a second create") {
                try await test.set("a/1", [:], precondition: .exists(false))
            }
            try await requireRefusal(.failedPrecondition, "does not match the required base version", "an old base") {
                try await test.set(
                    "a/1", [:], precondition: .updateTime(Timestamp(microseconds: time.microseconds - 1)))
            }
            try await test.set("a/1", ["n": .integer(2)], precondition: .updateTime(time))
            try requireEqual(try await test.fields("a/1"), ["n": .integer(2)], "the document")
        },
        DocumentStoreContract("a commit is all or nothing") { test in
            let writes = [
                Write(.update(try test.name("a/1"), fields: [:])),
                Write(.update(try test.name("a/2"), fields: [:]), precondition: .exists(true)),
            ]
            try await requireRefusal(.notFound, "", "the commit") { _ = try await test.store.commit(writes) }
            try requireEqual(try await test.document("a/1"), nil, "the first document")
        },
        DocumentStoreContract("a later write of a commit sees the earlier ones, and there is one version") { test in
            let name = try test.name("a/1")
            let result = try await test.store.commit([
                Write(.update(name, fields: ["n": .integer(1)]), precondition: .exists(false)),
                Write(
                    .update(name, fields: [:]), mask: [],
                    transforms: [FieldTransform(try test.path("n"), .increment(.integer(2)))],
                    precondition: .exists(true)),
            ])
            try requireEqual(result.writeResults[1].transformResults, [.integer(3)], "the transform's result")
            try requireEqual(try await test.fields("a/1"), ["n": .integer(3)], "the document")
            try requireEqual(try await test.document("a/1")?.updateTime, result.commitTime, "the version")
        },
        DocumentStoreContract("a write that changes nothing keeps the version") { test in
            let time = try await test.set("a/1", ["n": .double(1)])
            let result = try await test.store.commit([Write(.update(try test.name("a/1"), fields: ["n": .double(1)]))])
            try requireEqual(result.writeResults[0].updateTime, time, "the result's version")
            try require(result.commitTime > time, "the commit time must still grow")
            try requireEqual(try await test.document("a/1")?.updateTime, time, "the stored version")
            try await test.set("a/1", ["n": .integer(1)])
            try require(try await test.document("a/1")?.updateTime != time, "1 and 1.0 are different content")
        },
        DocumentStoreContract("documents are counted for the user that they, or the top of their tree, name") { test in
            func counts() async throws -> [Int64] {
                [try await test.store.documentCount(of: "anna"), try await test.store.documentCount(of: "bob")]
            }
            let anna: [String: Value] = ["userId": .string("anna")]
            let bob: [String: Value] = ["userId": .string("bob")]
            try await test.set("tasks/1", anna)
            try await test.set("tasks/1", ["userId": .string("anna"), "n": .integer(1)])
            try await test.set("tasks/2", bob)
            try await test.set("tasks/3", ["userId": .integer(1)])
            try await test.set("tasks/1/history/a", [:])
            try await test.set("tasks/1/history/b", bob)
            try await test.set("tasks/1/history/b/x/y", [:])
            try requireEqual(try await counts(), [3, 2], "the counts")
            try await test.set("tasks/1/history/a", bob)
            try await test.set("tasks/1/history/b", [:])
            try requireEqual(try await counts(), [3, 2], "the counts after an exchange")
            try await test.set("tasks/2", anna)
            try await test.delete("tasks/3")
            try requireEqual(try await counts(), [4, 1], "the counts after a document changed hands")
            // An orphaned document counts for the account for which it counted before, and only
            // once.
            try await test.delete("tasks/1")
            try await test.set("tasks/1/history/b/x/y", ["n": .integer(1)])
            try requireEqual(try await counts(), [3, 1], "the counts with orphans")
            for path in ["tasks/1/history/a", "tasks/1/history/b", "tasks/1/history/b/x/y", "tasks/2"] {
                try await test.delete(path)
            }
            try requireEqual(try await counts(), [0, 0], "the counts at the end")
            // Both are in one commit, the child first.
            _ = try await test.store.commit([
                Write(.update(try test.name("tasks/9/history/a"), fields: [:])),
                Write(.update(try test.name("tasks/9"), fields: anna)),
                Write(.update(try test.name("tasks/8"), fields: anna)), Write(.delete(try test.name("tasks/8"))),
            ])
            try requireEqual(try await counts(), [2, 0], "the counts of a tree made at once")
        },
        DocumentStoreContract("a guard receives the users that would own more documents, and how many") { test in
            let anna: [String: Value] = ["userId": .string("anna")]
            let bob: [String: Value] = ["userId": .string("bob")]
            try await test.set("tasks/1", anna)
            try await test.set("tasks/2", bob)
            let seen = Recorder()
            func commit(_ writes: [Write]) async throws -> [ProposedCommit.Growth] {
                let guarding = CommitGuard(account: "anna") { seen.growth = try $0.growth() }
                _ = try await test.store.commit(writes, transaction: nil, guarding: guarding)
                return seen.growth.sorted { $0.owner < $1.owner }
            }
            func update(_ path: String, _ fields: [String: Value]) throws -> Write {
                Write(.update(try test.name(path), fields: fields))
            }
            let anotherTwo = try await commit([
                try update("tasks/3", anna), try update("tasks/1/history/a", [:]), try update("tasks/1", anna),
            ])
            try requireEqual(
                anotherTwo, [ProposedCommit.Growth(owner: "anna", count: 1, added: 2)], "the growth of two")
            let exchange = try await commit([try update("tasks/4", bob), Write(.delete(try test.name("tasks/2")))])
            try requireEqual(exchange, [], "one for another")
            let passed = try await commit([try update("tasks/3", bob)])
            try requireEqual(
                passed, [ProposedCommit.Growth(owner: "bob", count: 1, added: 1)], "a document that changes hands")
        },
        DocumentStoreContract("server timestamps are the commit's time") { test in
            let result = try await test.store.commit([
                Write(
                    .update(try test.name("a/1"), fields: [:]),
                    transforms: [FieldTransform(try test.path("at"), .serverTimestamp)])
            ])
            try requireEqual(try await test.fields("a/1"), ["at": .timestamp(result.commitTime)], "the document")
        },
        DocumentStoreContract("a verify changes nothing") { test in
            let time = try await test.set("a/1", ["n": .integer(1)])
            _ = try await test.store.commit([Write(.verify(try test.name("a/1")), precondition: .updateTime(time))])
            try await requireRefusal(.failedPrecondition, "", "a verify of another version") {
                let other = Precondition.updateTime(Timestamp(microseconds: 1))
                _ = try await test.store.commit([Write(.verify(try test.name("a/1")), precondition: other)])
            }
            try requireEqual(try await test.document("a/1")?.updateTime, time, "the version")
        },
        DocumentStoreContract("a guard sees before and after, and refuses the commit whole") { test in
            try await test.set("a/1", ["n": .integer(1)])
            try await test.set("b/1", ["allowed": .boolean(false)])
            let other = try test.name("b/1")
            let write = Write(.update(try test.name("a/1"), fields: ["n": .integer(2)]))
            try await requireRefusal(.permissionDenied, "", "the guarded commit") {
                let guarding = CommitGuard(account: "a") { proposed in
                    try requireEqual(proposed.changes[0].before?.fields, ["n": .integer(1)], "before")
                    try requireEqual(proposed.changes[0].after?.fields, ["n": .integer(2)], "after")
                    guard try proposed.get(other)?.fields["allowed"] == .boolean(true) else {
                        throw DocumentStoreError(.permissionDenied, "Missing or insufficient permissions.")
                    }
                }
                _ = try await test.store.commit([write], transaction: nil, guarding: guarding)
            }
            try requireEqual(try await test.fields("a/1"), ["n": .integer(1)], "the document")
        },
        DocumentStoreContract("descendants follow the inherited field of a document in the same commit") { test in
            let (old, new) = (Value.string("old"), Value.string("new"))
            try await test.set("a/1", ["inherited": old])
            for path in ["a/1/b/1", "a/1/b/1/c/1", "a/12/b/1"] { try await test.set(path, ["inherited": old]) }
            try await test.set("a/1/b/2", ["n": .integer(1)])
            let query = test.query("b", .field(try test.path("inherited"), .equal, old), group: true)
            try requireEqual(try await test.paths(query), ["a/1/b/1", "a/12/b/1"], "before")
            let moved = try await test.store.commit([
                Write(.update(try test.name("a/1/b/3"), fields: ["inherited": old])),
                Write(.update(try test.name("a/1"), fields: ["inherited": new])),
                Write(.update(try test.name("a/1/b/4"), fields: ["inherited": old])),
            ])
            try requireEqual(moved.writeResults.count, 3, "the answers")
            for path in ["a/1/b/1", "a/1/b/1/c/1", "a/1/b/3", "a/1/b/4"] {
                let document = try await test.document(path)
                try requireEqual(document?.fields, ["inherited": new], path)
                try requireEqual(document?.updateTime, moved.commitTime, "the version of \(path)")
            }
            try requireEqual(try await test.fields("a/1/b/2"), ["n": .integer(1)], "what does not have it")
            try requireEqual(try await test.paths(query), ["a/12/b/1"], "after")
            try requireEqual(
                try await test.paths(query, at: .at(Timestamp(microseconds: moved.commitTime.microseconds - 1))),
                ["a/1/b/1", "a/12/b/1"], "as it was")
            // A document that loses the field takes it from its descendants; a deleted one leaves
            // them unchanged.
            try await test.set("a/1", ["n": .integer(1)])
            try requireEqual(try await test.fields("a/1/b/1"), [:], "without it")
            try await test.set("a/12", ["inherited": old])
            try await test.delete("a/12")
            try requireEqual(try await test.fields("a/12/b/1"), ["inherited": old], "below a deleted one")
            try await test.set("a/12", ["inherited": new])
            try requireEqual(try await test.fields("a/12/b/1"), ["inherited": new], "below one that came again")
        },
        DocumentStoreContract("more documents than a commit may change do not follow, and refuse it") { test in
            try await test.set("a/1", ["inherited": .string("old")])
            let below = try (0...10_000).map { number in
                Write(.update(try test.name("a/1/b/\(number)"), fields: ["inherited": .string("old")]))
            }
            _ = try await test.store.commit(below)
            try await requireRefusal(.invalidArgument, "More than 10000 documents below a/1", "the commit") {
                try await test.set("a/1", ["inherited": .string("new")])
            }
            try requireEqual(try await test.fields("a/1"), ["inherited": .string("old")], "the document")
            try await test.delete("a/1/b/0")
            try await test.set("a/1", ["inherited": .string("new")])
            try requireEqual(try await test.fields("a/1/b/10000"), ["inherited": .string("new")], "the last")
        },
        DocumentStoreContract("a batch write answers each write on its own") { test in
            let results = try await test.store.batchWrite(
                [
                    Write(.update(try test.name("a/1"), fields: [:])),
                    Write(.update(try test.name("a/2"), fields: [:]), precondition: .exists(true)),
                    Write(.delete(try test.name("a/3"))),
                ], guarding: nil)
            try requireEqual(results.map { (try? $0.get()) != nil }, [true, false, true], "the successes")
            try require(try await test.document("a/1") != nil, "the first write is there")
            try await requireRefusal(.invalidArgument, "more than once", "a document twice") {
                let twice = [Write(.delete(try test.name("a/3"))), Write(.delete(try test.name("a/3")))]
                _ = try await test.store.batchWrite(twice, guarding: nil)
            }
        },
        DocumentStoreContract("limits and reserved names are refused") { test in
            try await requireRefusal(.invalidArgument, "reserved", "a reserved id") {
                try await test.set("a/__id7__", [:])
            }
            try await requireRefusal(.invalidArgument, "Nested arrays", "an array in an array") {
                try await test.set("a/1", ["n": .array([.array([])])])
            }
            for reference in ["", "nonsense", "a/b", "\(test.store.database.documentsRoot)/a"] {
                try await requireRefusal(.invalidArgument, "Property r has an invalid reference", "\(reference)") {
                    try await test.set("a/1", ["r": .reference(reference)])
                }
            }
            try await requireRefusal(.invalidArgument, "Received: 502", "too many transforms of one document") {
                let increments = Array(
                    repeating: FieldTransform(try test.path("n"), .increment(.integer(1))), count: 251)
                let write = Write(.update(try test.name("a/1"), fields: [:]), mask: [], transforms: increments)
                _ = try await test.store.commit([write, write])
            }
            try await requireRefusal(.invalidArgument, "exceeds the maximum", "a document that is too large") {
                let half = Value.string(String(repeating: "x", count: 600_000))
                try await test.set("a/1", ["a": half, "b": half])
            }
            try await requireRefusal(.invalidArgument, "attempting to access database", "another database") {
                let other = DatabaseName(project: "elsewhere")
                _ = try await test.store.commit([Write(.delete(try DocumentName(database: other, path: "a/1")))])
            }
        },
        DocumentStoreContract("names that differ only in their Unicode form are two documents") { test in
            try await test.set("a/\u{e9}", ["n": .integer(1)])
            try await test.set("a/e\u{301}", ["n": .integer(2)])
            try requireEqual(try await test.fields("a/\u{e9}"), ["n": .integer(1)], "the composed one")
            try requireEqual(try await test.fields("a/e\u{301}"), ["n": .integer(2)], "the decomposed one")
        },
        DocumentStoreContract("all documents can be deleted") { test in
            for index in 0..<5 { try await test.set("a/\(index)/b/c", [:]) }
            try await test.store.deleteAllDocuments()
            try requireEqual(try await test.paths(test.query("b", group: true)), [], "what is left")
        },
        DocumentStoreContract("a commit of a stream that is sent again is applied once and answered as before") {
            test in
            let name = try test.name("a/1")
            let write = Write(
                .update(name, fields: [:]), mask: [],
                transforms: [FieldTransform(try test.path("n"), .increment(.integer(1)))])
            let position = StreamPosition(stream: "s", number: 1, digest: [1])
            let first = try await test.store.commit([write], at: position, guarding: nil)
            let again = try await test.store.commit([write], at: position, guarding: nil)
            try requireEqual(again, first, "the answer")
            try requireEqual(try await test.fields("a/1"), ["n": .integer(1)], "the document")
            try await requireRefusal(.invalidArgument, "Other writes", "another commit at the place") {
                let other = StreamPosition(stream: "s", number: 1, digest: [2])
                _ = try await test.store.commit([write], at: other, guarding: nil)
            }
            for (stream, number) in [("s", 2), ("t", 1)] as [(String, Int64)] {
                let next = StreamPosition(stream: stream, number: number, digest: [1])
                _ = try await test.store.commit([write], at: next, guarding: nil)
            }
            try requireEqual(try await test.fields("a/1"), ["n": .integer(3)], "the document")
            // A rejected commit may be sent again.
            let last = StreamPosition(stream: "s", number: 3, digest: [3])
            let create = Write(.update(name, fields: [:]), precondition: .exists(false))
            for _ in 0..<2 {
                try await requireRefusal(.alreadyExists, "", "a create of what is there") {
                    _ = try await test.store.commit([create], at: last, guarding: nil)
                }
            }
        },
    ]
}

/// The commits that a guard was asked about.
private final class Recorder: @unchecked Sendable {
    var growth: [ProposedCommit.Growth] = []
}

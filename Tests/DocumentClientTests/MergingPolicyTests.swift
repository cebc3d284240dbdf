import DocumentModel
import Merge
import Testing

@testable import DocumentClient

@Suite struct MergingPolicyTests {
    let remote = MemoryRemote()

    func makeReplica(_ id: String) throws -> Replica {
        let policy = MergingPolicy(.tasks, historyCollection: "history", copiedFields: ["userId"])
        return try memoryReplica(policies: RebasePolicies(["tasks": policy]), id: id)
    }

    func time(_ field: String) -> FieldTransform { FieldTransform(FieldPath(key: field), .serverTimestamp) }

    func history() -> [[String: Value]] {
        remote.documents.values.filter { $0.name.collectionID == "history" }.map(\.fields)
    }

    /// A task that `replica` has, and that somebody else then changes.
    func start(_ replica: Replica, _ theirs: [String: Value], transforms: [FieldTransform] = []) throws -> DocumentName
    {
        let task = try name("tasks/a")
        try replica.append([
            .create(
                task,
                [
                    "title": .string("milk"), "userId": .string("u"), "tags": .array([.string("x")]),
                    "notes": .string("a\nb\nc\n"),
                ], transforms: [time("createdTime"), time("updatedTime")])
        ])
        try replica.drain(into: remote)
        let mask = Set(theirs.keys).sorted().map { FieldPath(key: $0) }
        _ = try remote.commit([
            Write(.update(task, fields: theirs), mask: mask, transforms: transforms + [time("updatedTime")])
        ])
        return task
    }

    @Test func `an edit clears a delete that came first, and says so in the history`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, [:], transforms: [time("deletedTime")])
        try replica.append([.update(task, [try path("title"): .string("oat milk")], transforms: [time("updatedTime")])])
        try replica.drain(into: remote)
        let fields = try #require(remote.documents[task]?.fields)
        #expect(fields["deletedTime"] == nil)
        #expect(fields["title"] == .string("oat milk"))
        #expect(history().map { $0["reason"] } == [.string("editSurvivesDelete")])
        #expect(history().map { $0["userId"] } == [.string("u")])
        #expect(try replica.snapshot(task).fields == fields)
    }

    @Test func `a delete that had not seen an edit is dropped`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, ["title": .string("oat milk")])
        try replica.append([.update(task, [:], transforms: [time("deletedTime"), time("updatedTime")])])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["deletedTime"] == nil)
        #expect(replica.journal.count == 0)
        #expect(history().map { $0["reason"] } == [.string("editSurvivesDelete")])
        #expect(history().map { $0["value"] } == [nil])
    }

    @Test func `a delete stands over a change of times only`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, [:])
        try replica.append([.update(task, [:], transforms: [time("deletedTime"), time("updatedTime")])])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["deletedTime"] != nil)
        #expect(history().isEmpty)
    }

    @Test func `tags unite and texts merge by lines`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, ["tags": .array([]), "notes": .string("A\nb\nc\n")])
        try replica.append([
            .update(
                task,
                [
                    try path("tags"): .array([.string("x"), .string("y")]),
                    try path("notes"): .string("a\nb\nC\n"),
                ])
        ])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["tags"] == .array([.string("y")]))
        #expect(remote.documents[task]?.fields["notes"] == .string("A\nb\nC\n"))
        #expect(history().isEmpty)
    }

    @Test func `completing is taken back as a whole when it was completed elsewhere before`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, ["completed": .boolean(true)], transforms: [time("completedTime")])
        let completed = remote.documents[task]?.fields["completedTime"]
        try replica.append([
            .update(
                task, [try path("completed"): .boolean(true)], transforms: [time("completedTime"), time("updatedTime")])
        ])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["completedTime"] == completed)
        #expect(replica.journal.count == 0)
    }
}

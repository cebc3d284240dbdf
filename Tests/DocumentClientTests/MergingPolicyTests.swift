import DocumentModel
import FerryKitTestSupport
import Merge
import Testing

@testable import DocumentClient

@Suite struct MergingPolicyTests {
    let remote = MemoryRemote()

    func makeReplica(_ id: String) throws -> Replica {
        let policy = MergingPolicy(
            .tasks, historyCollection: "history", copiedFields: ["userId"], signatureField: "signatures")
        return try memoryReplica(policies: RebasePolicies(["tasks": policy]), id: id)
    }

    func time(_ field: String) -> FieldTransform { FieldTransform(FieldPath(key: field), .serverTimestamp) }

    func history() -> [[String: Value]] {
        remote.documents.values.filter { $0.name.collectionID == "history" }.map(\.fields)
    }

    /// Creates a task that `replica` has and that another client then changes.
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

    @Test func `a copy yields only to a version that has all of its changes, however late that is`() throws {
        let policy = MergingPolicy(.tasks, historyCollection: "history", signatureField: "signatures")
        let rebase = Rebase(policy: policy, replica: "one")
        func task(_ title: String, _ signatures: [String: Int64]) -> [String: Value] {
            ["title": .string(title), "signatures": .map(signatures.mapValues { .integer($0) })]
        }
        var copy = Mutation.create(try name("tasks/a"), task("new", ["one": 2]))
        copy.copyOf = Timestamp(microseconds: 10)
        func carried(to fields: [String: Value]) -> Rebase.Outcome {
            let base = Base.exists(fields: fields, updateTime: Timestamp(microseconds: 20))
            return rebase.carry(copy, from: .missing, to: base, id: "x", wasSent: false)
        }
        #expect(carried(to: task("newer", ["one": 3, "two": 1])) == .done)
        // Another device changed the earlier version, after the remote had lost this one.
        guard case .changed(let united) = carried(to: task("old", ["one": 1, "two": 7])) else {
            Issue.record("the newer version was given up")
            return
        }
        #expect(united.fields == task("new", ["one": 2]))
        #expect(united.companions.count == 1)
    }

    @Test func `a time that is still to come goes with the value that it is in`() throws {
        let task = try name("tasks/a")
        var view = LocalView(fields: ["title": .string("milk")])
        let file = try path("attachments.x")
        view.apply(
            .merge(
                task, [file: .map(["name": .string("a")]), try path("attachments.y"): .map(["name": .string("b")])],
                transforms: try ["attachments.x.createdTime", "attachments.y.createdTime", "updatedTime"].map {
                    FieldTransform(try path($0), .serverTimestamp)
                }))
        view.apply(Mutation(.merge, task, fields: [:], mask: [file]))
        #expect(try Set(view.pendingTimes.keys) == [path("attachments.y.createdTime"), path("updatedTime")])
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

    /// Applies the commit in flight without a response.
    func loseAnswer(to replica: Replica) throws {
        guard case .commit(let writes)? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
        _ = try remote.commit(writes)
        _ = try replica.failed(RemoteError(.transient, "cut"))
    }

    @Test func `an element that another client removed stays removed if the response to its addition was lost`() throws
    {
        let replica = try makeReplica("one")
        let task = try start(replica, [:])
        try replica.append([.update(task, [try path("completed"): .boolean(true)])])
        try replica.drain(into: remote)
        try replica.append([
            .update(task, [try path("tags"): .array([.string("x"), .string("y")]), try path("due"): .integer(1)])
        ])
        try loseAnswer(to: replica)
        _ = try remote.commit([
            Write(
                .update(task, fields: ["tags": .array([.string("x")]), "due": .integer(2)]),
                mask: [try path("due"), try path("tags")])
        ])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["tags"] == .array([.string("x")]))
        #expect(remote.documents[task]?.fields["due"] == .integer(2))
        #expect(history().isEmpty)
        #expect(replica.journal.count == 0)
        // A later change is an edit of its own.
        try replica.append([.update(task, [try path("due"): .integer(3)])])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["due"] == .integer(3))
    }

    @Test func `an edit after a delete in flight reverts it, also if another client commits first`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, [:])
        try replica.append([.update(task, [:], transforms: [time("deletedTime"), time("updatedTime")])])
        let request = try #require(try replica.nextRequest())
        try replica.append([.update(task, [try path("title"): .string("oat milk"), try path("deletedTime"): nil])])
        try replica.perform(request, on: remote)
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["title"] == .string("oat milk"))
        #expect(remote.documents[task]?.fields["deletedTime"] == nil)
        #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
    }

    @Test func `a change after a commit of unknown outcome is not part of that commit`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, [:])
        try replica.append([.update(task, [try path("completed"): .boolean(true)])])
        try replica.drain(into: remote)
        try replica.append([.update(task, [try path("due"): .integer(1)])])
        guard case .commit(let writes)? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
        _ = try remote.commit(writes)
        // A proxy between the client and the remote demands authentication, after the remote has
        // applied the commit.
        _ = try replica.failed(RemoteError(.unauthenticated, "who?"))
        try replica.append([.update(task, [try path("title"): .string("oat milk")])])
        _ = try replica.nextRequest()
        _ = try replica.failed(RemoteError(.transient, "cut"))
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["due"] == .integer(1))
        #expect(remote.documents[task]?.fields["title"] == .string("oat milk"))
    }

    @Test func `a displaced value is reported once`() throws {
        let replica = try makeReplica("one")
        let task = try start(replica, ["title": .string("oat milk")])
        try replica.append([.update(task, [:], transforms: [time("deletedTime"), time("updatedTime")])])
        _ = try replica.nextRequest().map { try replica.perform($0, on: remote) }
        _ = try replica.nextRequest().map { try replica.perform($0, on: remote) }
        // All that is left of the delete is the record that it was given up.
        guard case .commit(let writes)? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
        let result = try remote.commit(writes)
        #expect(throws: RemoteError.self) { try remote.commit(writes) }
        try replica.committed(result)
        #expect(history().map { $0["reason"] } == [.string("editSurvivesDelete")])
        #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
        #expect(replica.journal.count == 0)
    }

    @Test func `a delete wins over a change of times only`() throws {
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

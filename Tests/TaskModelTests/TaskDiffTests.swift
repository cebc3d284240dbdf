import DocumentModel
import TaskModel
import Testing

@Suite struct TaskDiffTests {
    private func changes(_ old: TaskItem?, _ new: TaskItem) -> [String: Value?] {
        Dictionary(uniqueKeysWithValues: TaskDiff(from: old, to: new).changes.map { ($0.path.description, $0.value) })
    }

    private func times(_ old: TaskItem?, _ new: TaskItem) -> Set<String> {
        Set(TaskDiff(from: old, to: new).serverTimes.map(\.description))
    }

    @Test func `equal tasks differ in nothing`() {
        let item = TaskItem(title: "x", tags: ["a"], fields: ["k": .null])
        #expect(TaskDiff(from: item, to: item).isEmpty)
        var seen = item
        seen.updatedTime = Timestamp(microseconds: 1)
        #expect(TaskDiff(from: item, to: seen).isEmpty)
    }

    @Test func `the difference from no task contains every field`() {
        let item = TaskItem(title: "x", priority: .low, tags: ["a"], fields: ["k": .integer(1)], userId: UserID("u"))
        #expect(
            changes(nil, item) == [
                "title": .string("x"), "completed": .boolean(false), "priority": .integer(2),
                "tags": .array([.string("a")]),
                "fields.k": .integer(1), "userId": .string("u"),
            ])
        #expect(times(nil, item) == ["createdTime", "updatedTime"])
    }

    @Test func `fields and attachments change by element`() {
        var old = TaskItem(title: "x", fields: ["a": .integer(1), "b": .integer(2)])
        old.attachments = ["1": TaskAttachment(name: "n")]
        var new = old
        new.fields = ["b": .integer(3), "c d": .null]
        new.attachments = ["2": TaskAttachment(name: "m")]
        #expect(
            changes(old, new) == [
                "fields.a": nil, "fields.b": .integer(3), "fields.`c d`": .null, "attachments.`1`": nil,
                "attachments.`2`": .map(["name": .string("m")]),
            ])
        #expect(times(old, new) == ["updatedTime"])
    }

    @Test func `a due date changes with all fields that represent it`() {
        let old = TaskItem(title: "x", due: Due(parsing: "2026-11-30T17:00+01:00"))
        var new = old
        new.due = Due(parsing: "2026-12-01")
        #expect(
            changes(old, new) == [
                "due": .timestamp(Timestamp(microseconds: 1_796_083_200_000_000)), "dueHasTime": .boolean(false),
                "fields.due": nil,
            ])
        new.due = nil
        #expect(changes(old, new) == ["due": nil, "dueHasTime": nil, "fields.due": nil])
    }

    @Test func `completing and deleting take the server's time, undoing removes it`() {
        let open = TaskItem(title: "x")
        var done = open
        done.completed = true
        done.deletedTime = Timestamp(microseconds: 9)
        #expect(changes(open, done) == ["completed": .boolean(true)])
        #expect(times(open, done) == ["completedTime", "deletedTime", "updatedTime"])
        #expect(changes(done, open) == ["completed": .boolean(false), "completedTime": nil, "deletedTime": nil])
        #expect(times(done, open) == ["updatedTime"])
    }

    @Test func `a diff is one masked write`() throws {
        let name = try DocumentName(parsing: "projects/p/databases/(default)/documents/tasks/1")
        let old = TaskItem(title: "x", notes: "n", fields: ["a": .integer(1)])
        let new = TaskItem(title: "y", fields: ["b": .integer(2)])
        let write = TaskDiff(from: old, to: new).write(to: name, if: .updateTime(Timestamp(microseconds: 5)))
        #expect(write.operation == .update(name, fields: ["title": .string("y"), "fields": .map(["b": .integer(2)])]))
        #expect(write.mask?.map(\.description) == ["title", "notes", "fields.a", "fields.b"])
        #expect(write.transforms == [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)])
        #expect(write.precondition == .updateTime(Timestamp(microseconds: 5)))
    }
}

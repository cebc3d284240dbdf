import DocumentModel
import DocumentStore
import TaskModel
import Testing

@testable import MorningMail

struct TasksOfAccountTests {
    private let documents = MemoryDocumentStore(DatabaseName(project: "ferry"))

    private func add(_ tasks: [(id: String, fields: [String: Value])]) async throws {
        for start in stride(from: 0, to: tasks.count, by: 500) {
            _ = try await documents.commit(
                try tasks[start..<min(start + 500, tasks.count)].map { task in
                    Write(
                        .update(
                            try DocumentName(database: documents.database, collection: "tasks", id: task.id),
                            fields: task.fields.merging(["userId": "alice"]) { own, _ in own }))
                })
        }
    }

    @Test func `what is due is found among more tasks than are looked at`() async throws {
        let later = TaskItem(title: "later", due: Due(parsing: "2027-06-01")).documentFields
        try await add((0..<10_050).map { ("a\($0)", later) })
        var shared = TaskItem(title: "shared", due: Due(parsing: "2026-11-29")).documentFields
        (shared["userId"], shared["listId"]) = ("bob", "list")
        try await add([
            ("z1", TaskItem(title: "today", due: Due(parsing: "2026-11-30T17:00")).documentFields),
            ("z2", TaskItem(title: "overdue", due: Due(parsing: "2026-01-01")).documentFields), ("z3", shared),
        ])
        let list = try DocumentName(database: documents.database, collection: "lists", id: "list")
        _ = try await documents.commit([
            Write(.update(list, fields: ["userId": "bob", "sharedWith": .array(["alice"])]))
        ])
        let found = try await TasksOfAccount(documents).open(of: "alice", dueBy: 1_796_020_200).map(\.title)
        #expect(Set(["today", "overdue", "shared"]).isSubset(of: found))
    }

    @Test func `a date in the words of other software is found`() async throws {
        try await add([("a", ["title": "a", "fields": .map(["Due": "2026-11-30"])])])
        let found = try await TasksOfAccount(documents).open(of: "alice", dueBy: 1_796_020_200)
        #expect(found.map(\.title) == ["a"])
    }
}

import DocumentModel
package import DocumentStore
import FirestoreProtocol
package import TaskModel

/// Reads the tasks that an account sees and that may be due.
package struct TasksOfAccount: Sendable {
    private let store: any DocumentStore

    /// The number of shared lists, and of tasks of the account or of a list, that are read. More are
    /// not looked at, so that one account cannot occupy the server.
    private static let limit: Int32 = 10_000
    private static let listLimit: Int32 = 200

    package init(_ store: any DocumentStore) { self.store = store }

    /// Returns the open tasks of an account, and of the lists that are shared with it.
    package func open(of account: String) async throws -> [TaskItem] {
        var tasks: [DocumentName: TaskItem] = [:]
        try await add(.field(FieldPath(key: "userId"), .equal, .string(account)), to: &tasks)
        var lists = query("lists", .field(FieldPath(key: "sharedWith"), .arrayContains, .string(account)))
        (lists.limit, lists.projection) = (Self.listLimit, [FieldPath(key: "name")])
        for try await list in try await store.query(lists).documents {
            try await add(.field(FieldPath(key: "listId"), .equal, .string(list.name.id)), to: &tasks)
        }
        return Array(tasks.values)
    }

    private func add(_ filter: Query.Filter, to tasks: inout [DocumentName: TaskItem]) async throws {
        var query = query("tasks", filter)
        query.limit = Self.limit
        query.projection = ["title", "completed", "due", "dueHasTime", "priority", "deletedTime", "fields"].map {
            FieldPath(key: $0)
        }
        for try await document in try await store.query(query).documents {
            let task = TaskItem(fields: try document.fields.decoded())
            if !task.completed, !task.isDeleted, task.due != nil { tasks[document.name] = task }
        }
    }

    private func query(_ collection: String, _ filter: Query.Filter) -> Query {
        Query(parent: ParentName(store.database), collectionID: collection, filter: filter)
    }
}

import DocumentModel
package import DocumentStore
import FirestoreProtocol
import SystemIO
package import TaskModel

/// Reads the tasks that an account sees and that may be due.
package struct TasksOfAccount: Sendable {
    private let store: any DocumentStore

    /// The number of documents of tasks that are read for one account, and of lists that others share
    /// with it. Of more tasks, as many are read of those that are due: the mails of other accounts wait
    /// meanwhile.
    private static let limit: Int32 = 10_000
    private static let listLimit: Int32 = 200

    package init(_ store: any DocumentStore) { self.store = store }

    /// Returns the open tasks of an account, and of the lists that are shared with it, which have a due
    /// date.
    ///
    /// - Parameter time: seconds since 1970. If there are more tasks than are looked at, those that are
    ///   due by the day after this are among the returned ones, the latest first.
    package func open(of account: String, dueBy time: Int64) async throws -> [TaskItem] {
        var tasks: [DocumentName: TaskItem] = [:]
        var left = Self.limit
        let owner = FieldPath(key: "userId")
        var filters = [Query.Filter.field(owner, .equal, .string(account))]
        var lists = query("lists", .field(FieldPath(key: "sharedWith"), .arrayContains, .string(account)))
        (lists.limit, lists.projection) = (Self.listLimit, [owner])
        for try await list in try await store.query(lists).documents {
            let fields = try list.fields.decoded()
            // Any user can write a task that names this list. Only the tasks of the list's owner are in it.
            guard let host = fields["userId"]?.stringValue else { continue }
            filters.append(
                .and([
                    .field(owner, .equal, .string(host)),
                    .field(FieldPath(key: "listId"), .equal, .string(list.name.id)),
                ]))
        }
        // Dates in the words of other software, such as `Due: …`, are in other fields.
        for filter in filters { try await add(filter, [], to: &tasks, &left) }
        guard left <= 0 else { return Array(tasks.values) }
        left = Self.limit
        let due = FieldPath(key: "due")
        // A local time that is due on this day may be up to a day later in UTC.
        let end = Timestamp(seconds: time.saturatingAdded(to: 2 * 86_400), nanos: 0)
        for filter in filters {
            guard let end else { break }
            let isDue = Query.Filter.and([filter, .field(due, .lessThanOrEqual, .timestamp(end))])
            try await add(isDue, [Query.Order(due, descending: true)], to: &tasks, &left)
        }
        return Array(tasks.values)
    }

    private func add(
        _ filter: Query.Filter, _ orders: [Query.Order], to tasks: inout [DocumentName: TaskItem], _ left: inout Int32
    ) async throws {
        guard left > 0 else { return }
        var query = query("tasks", filter)
        (query.limit, query.orders) = (left, orders)
        query.projection = ["title", "completed", "due", "dueHasTime", "priority", "deletedTime", "fields"].map {
            FieldPath(key: $0)
        }
        for try await document in try await store.query(query).documents {
            let task = TaskItem(fields: try document.fields.decoded())
            left -= 1
            if !task.isCompleted(in: .standard), !task.isDeleted, task.anyDue != nil { tasks[document.name] = task }
        }
    }

    private func query(_ collection: String, _ filter: Query.Filter) -> Query {
        Query(parent: ParentName(store.database), collectionID: collection, filter: filter)
    }
}

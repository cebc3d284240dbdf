import DocumentClient
package import DocumentModel
package import TaskModel

/// What lists and look-ups need of every task, in memory: `ferry list` must not decode 10,000 documents.
package struct TaskCatalog: Sendable {
    package struct Entry: Sendable, Hashable {
        package var id: String
        package var title: String
        package var isCompleted: Bool
        package var priority: Priority?
        package var due: Due?
        package var tags: [String]
        package var list: String?
        package var attachmentCount: Int
        /// nil while the task lives; an absent time within means that the remote has not ordered the delete yet.
        package var deletion: Deletion?
        package var isPending: Bool
        package var isParked: Bool
    }

    package struct Deletion: Sendable, Hashable {
        package var time: Timestamp?
    }

    private(set) var entries: [String: Entry] = [:]
    /// The names of the lists, by id.
    package private(set) var listNames: [String: String] = [:]
    private var livingCount = 0

    /// Tasks that are not in the trash.
    package var living: some Sequence<Entry> { entries.values.lazy.filter { $0.deletion == nil } }

    package var trashed: [Entry] { entries.values.filter { $0.deletion != nil } }

    /// How many tasks are not in the trash.
    package var count: Int { livingCount }

    package subscript(id: String) -> Entry? { entries[id] }

    mutating func update(task view: DocumentSnapshot) {
        let id = view.name.id
        if let old = entries.removeValue(forKey: id), old.deletion == nil { livingCount -= 1 }
        guard view.exists else { return }
        let item = TaskItem(fields: view.fields(pendingTimes: .previous))
        let isDeleting = FileExport.isBeingDeleted(view)
        let entry = Entry(
            id: id, title: item.title, isCompleted: item.completed, priority: item.priority, due: item.due,
            tags: item.tags, list: item.listId, attachmentCount: item.attachments.count,
            deletion: item.isDeleted || isDeleting ? Deletion(time: item.deletedTime) : nil,
            isPending: view.hasPendingWrites, isParked: view.hasParkedWrites)
        entries[id] = entry
        if entry.deletion == nil { livingCount += 1 }
    }

    mutating func update(list view: DocumentSnapshot) {
        listNames[view.name.id] = view.exists ? TaskList(fields: view.fields).name : nil
    }
}

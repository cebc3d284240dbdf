import DocumentClient
import DocumentModel
import TaskModel

/// What is kept in memory of a task, as its document says it. Made apart from where it is kept, so
/// that a hundred thousand documents can be read on one thread and taken in on another.
struct TaskFacts: Sendable {
    /// The fields of a document that it looks at.
    static let fields: Set<String> = [
        "title", "completed", "priority", "due", "dueHasTime", "fields", "tags", "listId", "attachments", "deletedTime",
        TaskLayout.fileName,
    ]

    let id: String
    /// nil: there is no such task.
    let entry: TaskCatalog.Entry?
    /// What its file wants to be called; nil: it has none.
    let claim: NameAllocator.Claim?
    let hasAttachments: Bool

    /// - Parameter view: need not have other fields than `fields`.
    init(_ view: DocumentSnapshot) {
        id = view.name.id
        guard view.exists else {
            (entry, claim, hasAttachments) = (nil, nil, false)
            return
        }
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(withoutAttachments: fields)
        let attachmentCount = TaskItem.attachments(in: fields).count { $0.value.mapValue != nil }
        let isDeleted = item.isDeleted || FileExport.isBeingDeleted(view)
        entry = TaskCatalog.Entry(
            id: id, title: item.title, isCompleted: item.completed, priority: item.priority, due: item.due,
            tags: item.tags, list: item.listId, attachmentCount: attachmentCount,
            deletion: isDeleted ? TaskCatalog.Deletion(time: item.deletedTime) : nil,
            isPending: view.hasPendingWrites, isParked: view.hasParkedWrites)
        let title = TaskLayout.title(of: item, fields)
        claim =
            isDeleted
            ? nil
            : NameAllocator.Claim(
                place: item.listId ?? "", title: title, time: view.createTime,
                isExact: TaskFileName.file(for: title).carriesTitle)
        hasAttachments = attachmentCount > 0
    }
}

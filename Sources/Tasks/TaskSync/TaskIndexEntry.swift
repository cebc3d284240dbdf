import DocumentClient
import DocumentModel
import TaskModel

/// The data of a task's document that is kept in memory. It is created separately from the index, so
/// that a hundred thousand documents can be read on one thread and indexed on another.
struct TaskIndexEntry: Sendable {
    /// The fields of a document that an entry is created from.
    static let fields: Set<String> = [
        "title", "completed", "priority", "due", "dueHasTime", "fields", "tags", "listId", "attachments", "deletedTime",
        "notes", "snoozes", "createdTime",
        TaskLayout.fileName,
    ]

    let id: TaskID
    /// The catalog's entry; nil if the task does not exist.
    let entry: TaskCatalog.Entry?
    /// The moments at which it reminds its users; nil if it does not.
    let reminders: TaskReminders?
    /// The request for the name of its file; nil if it has no file.
    let request: NameRequest?
    let hasAttachments: Bool

    /// Creates the entry of a document.
    ///
    /// - Parameters:
    ///   - view: The document. Only its fields in `fields` are needed.
    ///   - reading: The settings by which the task is read.
    init(_ view: DocumentSnapshot, in reading: TaskReading) {
        id = view.name.task
        guard view.exists else {
            (entry, reminders, request, hasAttachments) = (nil, nil, nil, false)
            return
        }
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(withoutAttachments: fields)
        let attachmentCount = TaskItem.attachments(in: fields).count { $0.value.mapValue != nil }
        let checklist = Checklist(item.notes)
        let isDeleted = item.isDeleted || FileExport.isBeingDeleted(view)
        entry = TaskCatalog.Entry(
            id: id, title: item.title, isCompleted: item.isCompleted(in: reading.vocabulary),
            priority: item.priority(in: reading.vocabulary), due: item.anyDue,
            zone: item.anyDue?.kind == .localTime ? item.zoneName : nil,
            tags: item.anyTags, list: item.listId, attachmentCount: attachmentCount,
            checklist: checklist.items.isEmpty
                ? nil
                : TaskCatalog.ChecklistCount(
                    doneCount: UInt32(clamping: checklist.doneCount), count: UInt32(clamping: checklist.items.count)),
            deletion: isDeleted ? TaskCatalog.Deletion(time: item.deletedTime) : nil,
            isPending: view.hasPendingWrites, isParked: view.hasParkedWrites)
        reminders = isDeleted ? nil : TaskReminders(item, in: reading)
        let title = TaskLayout.title(of: item, fields)
        request =
            isDeleted
            ? nil
            : NameRequest(
                place: item.listId, title: title, time: view.createTime,
                isExact: TaskFileName.file(for: title).carriesTitle)
        hasAttachments = attachmentCount > 0
    }
}

import TaskFolder

/// The attachments whose files are here, whole and verified.
struct AttachmentIndex {
    private var rows: [String: [String: AttachmentRow]] = [:]
    /// Attachment files beside no known task, by the task file's path: the task may come later.
    private var orphans: [TaskPath: Set<TaskPath>] = [:]

    /// By attachment id.
    func rows(of task: String) -> [String: AttachmentRow] { rows[task] ?? [:] }

    var all: [AttachmentRow] { rows.values.flatMap(\.values) }

    func row(of task: String, named name: String) -> AttachmentRow? {
        rows[task]?.values.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    mutating func set(_ row: AttachmentRow) { rows[row.task, default: [:]][row.attachment] = row }

    mutating func remove(_ attachment: String, of task: String) { rows[task]?[attachment] = nil }

    mutating func removeAll(of task: String) { rows[task] = nil }

    mutating func note(orphan path: TaskPath) { orphans[path.taskFileOfAttachments, default: []].insert(path) }

    mutating func takeOrphans(of taskFile: TaskPath) -> Set<TaskPath> { orphans.removeValue(forKey: taskFile) ?? [] }
}

import TaskFolder
import TaskModel

/// The attachments whose files are on this machine, complete and verified.
struct AttachmentIndex {
    private var rows: [TaskID: [AttachmentID: AttachmentRow]] = [:]
    /// The ids of attachments, by task and the bytes of the file's name. A name usually has one.
    private var names: [TaskID: [[UInt8]: [AttachmentID]]] = [:]
    /// Attachment files without a known task, by the path of the task's file: the task may arrive
    /// later.
    private var orphans: [TaskPath: Set<TaskPath>] = [:]

    /// Returns the rows of a task, by attachment id.
    func rows(of task: TaskID) -> [AttachmentID: AttachmentRow] { rows[task] ?? [:] }

    var all: [AttachmentRow] { rows.values.flatMap(\.values) }

    func row(of task: TaskID, named name: String) -> AttachmentRow? {
        names[task]?[Array(name.utf8)]?.first.flatMap { rows[task]?[$0] }
    }

    mutating func set(_ row: AttachmentRow) {
        remove(row.attachment, of: row.task)
        rows[row.task, default: [:]][row.attachment] = row
        names[row.task, default: [:]][Array(row.name.utf8), default: []].append(row.attachment)
    }

    mutating func remove(_ attachment: AttachmentID, of task: TaskID) {
        guard let row = rows[task]?.removeValue(forKey: attachment) else { return }
        let name = Array(row.name.utf8)
        names[task]?[name]?.removeAll { $0 == attachment }
        if names[task]?[name]?.isEmpty == true { names[task]?[name] = nil }
    }

    mutating func removeAll(of task: TaskID) { (rows[task], names[task]) = (nil, nil) }

    mutating func note(orphan path: TaskPath) { orphans[path.taskFileOfAttachments, default: []].insert(path) }

    mutating func takeOrphans(of taskFile: TaskPath) -> Set<TaskPath> { orphans.removeValue(forKey: taskFile) ?? [] }

    mutating func remove(orphan path: TaskPath) {
        let taskFile = path.taskFileOfAttachments
        orphans[taskFile]?.remove(path)
        if orphans[taskFile]?.isEmpty == true { orphans[taskFile] = nil }
    }

    /// Forgets the attachment files without a task.
    ///
    /// - Parameter directory: The directory that contains them; nil for all.
    mutating func removeOrphans(beneath directory: TaskPath? = nil) {
        guard let directory else { return orphans = [:] }
        for path in orphans.values.joined().filter({ $0.isBeneath(directory) }) { remove(orphan: path) }
    }

    /// The directories of attachments without a known task, with their numbers of files.
    var orphanedDirectories: [(path: TaskPath, count: Int)] {
        orphans.values.compactMap { files in files.first.map { ($0.parent, files.count) } }
    }
}

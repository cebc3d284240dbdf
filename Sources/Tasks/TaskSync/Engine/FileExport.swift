import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// What a document means for its task file. Pure, but for asking which names are taken.
enum FileExport {
    enum Plan {
        case nothing
        /// There is no file yet.
        case create(TaskPath, [UInt8])
        /// Rename if `path` differs from the row's, then write if the bytes do.
        case update(FileRow, path: TaskPath, bytes: [UInt8])
        case trash(FileRow)
    }

    /// - Parameters:
    ///   - row: the file as it was last in step; nil if there is none.
    ///   - directory: of the task's list.
    ///   - isTaken: whether a path is used by another file.
    /// - Throws: `TaskFileProblem` for a document that no file can say, `FolderError` for a name that cannot be.
    static func plan(
        _ view: DocumentSnapshot, row: FileRow?, directory: TaskPath, isTaken: (TaskPath) -> Bool
    ) throws -> Plan {
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(fields: fields)
        guard view.exists, !item.isDeleted, !isBeingDeleted(view) else { return row.map { .trash($0) } ?? .nothing }
        guard let row else {
            let (name, writesTitle) = TaskLayout.name(of: item, fields) { name in
                (try? directory.appending(name)).map(isTaken) ?? true
            }
            let file =
                try TaskLayout.file(for: item, fields, named: name, writesTitle: writesTitle)
                ?? TaskFile.make(for: item, named: name, writesTitle: writesTitle)
            return .create(try directory.appending(name), file.bytes)
        }
        let old = try TaskFile(parsing: row.bytes, named: row.path.name)
        let target = item.listId == row.list ? row.path.parent : directory
        let kept = try target.appending(row.path.name)
        if keepsName(old, row.path.name, item, fields), kept == row.path || !isTaken(kept) {
            let file =
                try TaskLayout.file(for: item, fields, named: row.path.name, writesTitle: old.hasTitleKey)
                ?? old.updated(to: item)
            return plan(row, kept, file.bytes)
        }
        let (name, writesTitle) = TaskLayout.name(of: item, fields) { name in
            guard let path = try? target.appending(name) else { return true }
            return path != row.path && isTaken(path)
        }
        let file =
            try TaskLayout.file(for: item, fields, named: name, writesTitle: writesTitle)
            ?? old.updated(to: item, named: name, writesTitle: writesTitle)
        return plan(row, try target.appending(name), file.bytes)
    }

    /// Whether the file is called as it should be: as somebody chose, or else by its title, which a file with a title of its own
    /// need not be.
    private static func keepsName(_ old: TaskFile, _ name: String, _ item: TaskItem, _ fields: [String: Value]) -> Bool
    {
        let stem = TaskFileName.title(of: name).utf8
        if let chosen = fields[TaskLayout.fileName]?.stringValue { return stem.elementsEqual(chosen.utf8) }
        return old.hasTitleKey || stem.elementsEqual(item.title.utf8)
    }

    private static func plan(_ row: FileRow, _ path: TaskPath, _ bytes: [UInt8]) -> Plan {
        path == row.path && bytes == row.bytes ? .nothing : .update(row, path: path, bytes: bytes)
    }

    /// Whether a delete of this replica's waits for its time.
    static func isBeingDeleted(_ view: DocumentSnapshot) -> Bool {
        view.pendingTimePaths.contains { $0.segments == ["deletedTime"] }
    }
}

import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Decides how a task file follows from a living document. Pure, except that it asks which names
/// are taken.
enum FileExport {
    enum Plan {
        case nothing
        /// There is no file yet.
        case create(TaskPath, [UInt8])
        /// Rename if `path` differs from the row's, then write if the bytes do.
        case update(FileRow, path: TaskPath, bytes: [UInt8])
    }

    /// Plans the file of a task.
    ///
    /// - Parameters:
    ///   - row: The file when it was last in step; nil if there is none.
    ///   - directory: The directory of the task's list.
    ///   - number: The task's position among those that have this title.
    ///   - isTaken: Whether a path is used by another file. It throws if the disk does not tell.
    /// - Throws: `TaskFileProblem` for a document that no file can represent, `FolderError` for an
    ///   impossible name.
    static func plan(
        _ view: DocumentSnapshot, row: FileRow?, directory: TaskPath, number: Int,
        isTaken: (TaskPath) throws -> Bool
    ) throws -> Plan {
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(withoutAttachments: fields)
        guard let row else {
            let path = try freePath(in: directory, TaskLayout.title(of: item, fields), number, isTaken)
            let file = try TaskLayout.file(for: item, fields, named: path.name, instead: nil)
            return .create(path, file.bytes)
        }
        let title = TaskLayout.title(of: item, fields)
        var path = try directory.appending(row.path.name)
        // A name that the user gave to the file is kept even if Ferry would derive another one from
        // the title. No other task can have such a name by right, only the derived one, which other
        // machines use.
        let isNumberKept = number == 1 || !TaskFileName.file(for: title).carriesTitle
        let isKept = isNumberKept && TaskFileName.title(of: row.path.name).utf8.elementsEqual(title.utf8)
        if try !isKept || path != row.path && isTaken(path) {
            path = try freePath(in: directory, title, number) { try $0 != row.path && isTaken($0) }
        }
        // The file of most changes by the server, which are its times, is the same, and need not be parsed.
        let made = try? TaskLayout.plainFile(for: item, fields, named: path.name)
        if let made, path == row.path, made.bytes == row.bytes { return .nothing }
        let old = try TaskFile(parsing: row.bytes, named: row.path.name)
        let file = try TaskLayout.file(for: item, fields, named: path.name, instead: old, made: made)
        return path == row.path && file.bytes == row.bytes ? .nothing : .update(row, path: path, bytes: file.bytes)
    }

    /// Whether a living document has changes that its file lacks: those that arrived since the file
    /// was written or read.
    static func isBehind(_ row: FileRow, _ view: DocumentSnapshot) -> Bool {
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(withoutAttachments: fields)
        guard view.exists, !item.isDeleted, !isBeingDeleted(view) else { return false }
        guard let old = try? TaskFile(parsing: row.bytes, named: row.path.name),
            let file = try? TaskLayout.file(for: item, fields, named: row.path.name, instead: old)
        else { return false }
        if item.listId != row.list || file.bytes != row.bytes { return true }
        // A user gave the file this name, and its front matter contains the title.
        return TaskLayout.fileName(of: fields).map { !isName(row.path.name, of: $0) } ?? false
    }

    /// Whether a file has this name, with or without a number.
    private static func isName(_ name: String, of title: String) -> Bool {
        if TaskFileName.title(of: name).utf8.elementsEqual(title.utf8) { return true }
        let number = TaskFileName.title(of: name).split(separator: "(").last.flatMap { Int($0.dropLast()) }
        return [1, number ?? 1].contains {
            TaskFileName.file(for: title, number: $0).name.utf8.elementsEqual(name.utf8)
        }
    }

    private static func freePath(
        in directory: TaskPath, _ title: String, _ first: Int, _ isTaken: (TaskPath) throws -> Bool
    ) throws -> TaskPath {
        for number in NameRequest.numbers(from: first) {
            let path = try directory.appending(TaskFileName.file(for: title, number: number).name)
            if try !isTaken(path) { return path }
        }
        throw FolderError(.exists, "\(directory) has no free name for another '\(title)'; rename some of them")
    }

    /// Whether this replica has deleted the document, and the server has not set the time yet.
    static func isBeingDeleted(_ view: DocumentSnapshot) -> Bool {
        view.pendingTimePaths.contains { $0.segments == ["deletedTime"] }
    }
}

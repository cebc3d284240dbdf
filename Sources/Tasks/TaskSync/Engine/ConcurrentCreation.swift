import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Decides whether two tasks of one path that two machines created apart are one. Pure.
///
/// Both machines of a user make `Daily/2026-11-28.md` of one template before they have heard of
/// each other. The task that the remote ordered second joins the first one.
enum ConcurrentCreation {
    /// The task that this machine created.
    struct Local {
        let view: DocumentSnapshot
        /// The file as it was last in step.
        let bytes: [UInt8]
        /// The remote's time up to which this machine knew everything when it created the task.
        let knownTime: Timestamp
    }

    /// Whether the task created here joins the other one, which has not had a file here.
    ///
    /// A task that this machine knew when it created its own never takes that in, nor does one in
    /// the trash, of another user, or changed by this replica. A task that another machine has
    /// changed stays.
    ///
    /// - Parameters:
    ///   - other: The document of the task with the same path.
    ///   - userID: This user.
    ///   - replica: This replica.
    /// - Returns: The version from which both continue, as the bytes of a file; `nil` if they stay two tasks.
    static func commonVersion(
        _ local: Local, _ other: DocumentSnapshot, named name: String, userID: UserID, replica: String
    ) -> [UInt8]? {
        let (mine, theirs) = (local.view.fields(pendingTimes: .previous), other.fields(pendingTimes: .previous))
        guard let time = other.createTime, time > local.knownTime,
            local.view.createTime.map({ time < $0 }) ?? true,
            isLiving(local.view, mine), isLiving(other, theirs),
            [mine, theirs].allSatisfy({ $0["userId"]?.stringValue == userID.rawValue }),
            mine["listId"] == theirs["listId"],
            writers(mine).allSatisfy({ $0 == replica }), !writers(theirs).contains(replica)
        else { return nil }
        return commonVersion(local.bytes, theirs, named: name)
    }

    /// The version that a file and a task's document have in common: the one that is contained in
    /// the other; `nil` if neither is.
    static func commonVersion(_ file: [UInt8], _ fields: [String: Value], named name: String) -> [UInt8]? {
        let item = TaskItem(withoutAttachments: fields)
        guard let written = try? TaskLayout.file(for: item, fields, named: name, instead: nil),
            let read = try? TaskFile(parsing: file, named: name),
            UTF8Order.areEqual(written.item.title, read.item.title)
        else { return nil }
        if contains(written, read) { return read.bytes }
        return contains(read, written) ? written.bytes : nil
    }

    /// Whether the lines of a file's notes follow one another in those of a larger one, and its
    /// front matter is the same or empty.
    static func contains(_ large: TaskFile, _ small: TaskFile) -> Bool {
        guard small.head.isEmpty || small.head == large.head else { return false }
        let (lines, part) = (notes(large), notes(small))
        guard let first = part.first, part.count <= lines.count else { return part.isEmpty }
        return (0...(lines.count - part.count)).contains { start in
            lines[start] == first && lines[start..<start + part.count].elementsEqual(part)
        }
    }

    /// The lines of the notes, without empty ones at the end.
    private static func notes(_ file: TaskFile) -> [ArraySlice<UInt8>] {
        var lines = file.bytes.dropFirst(file.head.count).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private static func isLiving(_ view: DocumentSnapshot, _ fields: [String: Value]) -> Bool {
        view.exists && !view.isAwaited && !FileExport.isBeingDeleted(view) && fields["deletedTime"] == nil
    }

    /// The replicas that the document names as those that made or changed the task; "" for another client.
    private static func writers(_ fields: [String: Value]) -> Set<String> {
        let origins = fields[TaskOrigin.field]?.mapValue ?? [:]
        let changed = origins.values.map { $0.mapValue?["by"]?.stringValue ?? "" }
        return Set(changed + [fields[TaskOrigin.creator]?.stringValue ?? ""])
    }
}

import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Decides whether two tasks with the same path that two machines created at the same time are one.
/// Pure.
///
/// Both machines of a user may create `Daily/2026-11-28.md` from one template before they hear of
/// each other. The task that the server committed second is united with the first one.
enum ConcurrentCreation {
    /// The task that this machine created.
    struct Local {
        let view: DocumentSnapshot
        /// The file when it was last in step.
        let bytes: [UInt8]
        /// The server's time up to which this machine knew all changes when it created the task.
        let knownTime: Timestamp
    }

    /// Returns the version from which both tasks continue if they are one; the other task has had
    /// no file here.
    ///
    /// Two tasks stay apart if this machine knew the other one when it created its own, or if the
    /// other one is in the trash, belongs to another user or was changed by this replica. The local
    /// task stays if another machine has changed it.
    ///
    /// - Parameters:
    ///   - other: The document of the task with the same path.
    ///   - userID: This user.
    ///   - replica: This replica.
    /// - Returns: The common version as the bytes of a file; nil if the two stay two tasks.
    static func commonVersion(
        _ local: Local, _ other: DocumentSnapshot, named name: String, userID: UserID, replica: ReplicaID
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

    /// Returns the common version of a file and a task's document: the one that is contained in the
    /// other; nil if neither is.
    static func commonVersion(_ file: [UInt8], _ fields: [String: Value], named name: String) -> [UInt8]? {
        let item = TaskItem(withoutAttachments: fields)
        guard let written = try? TaskLayout.file(for: item, fields, named: name, instead: nil),
            let read = try? TaskFile(parsing: file, named: name),
            UTF8Order.areEqual(written.item.title, read.item.title)
        else { return nil }
        if contains(written, read) { return read.bytes }
        return contains(read, written) ? written.bytes : nil
    }

    /// Whether the lines of a file's notes occur in this order in those of a larger file, and its
    /// front matter is the same or empty.
    static func contains(_ large: TaskFile, _ small: TaskFile) -> Bool {
        guard small.head.isEmpty || small.head == large.head else { return false }
        let (lines, part) = (notes(large), notes(small))
        guard let first = part.first, part.count <= lines.count else { return part.isEmpty }
        return (0...(lines.count - part.count)).contains { start in
            lines[start] == first && lines[start..<start + part.count].elementsEqual(part)
        }
    }

    /// Returns the lines of the notes, without empty ones at the end.
    private static func notes(_ file: TaskFile) -> [ArraySlice<UInt8>] {
        var lines = file.bytes.dropFirst(file.head.count).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private static func isLiving(_ view: DocumentSnapshot, _ fields: [String: Value]) -> Bool {
        view.exists && !view.isAwaited && !FileExport.isBeingDeleted(view) && fields["deletedTime"] == nil
    }

    /// Returns the replicas that created or changed the task according to its document; nil for
    /// another client.
    private static func writers(_ fields: [String: Value]) -> Set<ReplicaID?> {
        let origins = fields[TaskOrigin.field]?.mapValue ?? [:]
        let changed = origins.values.map { $0.mapValue?["by"] }
        return Set((changed + [fields[TaskOrigin.creator]]).map { $0?.stringValue.map { ReplicaID($0) } })
    }
}

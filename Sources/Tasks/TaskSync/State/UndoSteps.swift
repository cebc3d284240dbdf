import DocumentClient
import DocumentModel
import FirestoreProtocol
import Merge
import SQLite
import TaskFolder
import TaskModel

/// One change of one task that can be undone.
struct UndoStep: Sendable {
    enum Kind: String, Sendable {
        case add
        case edit
        case remove
        case restore
        /// The change came from another machine.
        case sync
        /// The change undid another step; it is not undone itself.
        case undo
        /// A command removed or restored an attachment.
        case attachment
        /// An attachment was removed or replaced as a file, or on another machine.
        case beside
        /// A file was saved over a version that had just been written to it.
        case save
        /// The task's file got the name that another task's file had just before; this is not
        /// undone itself.
        case arrival

        /// Whether a command of this machine made the change.
        var isOfCommand: Bool { !Self.others.contains(self) }

        fileprivate static let others = [Kind.sync, .beside, .save, .arrival]
    }

    /// The change of one attachment of a task, as values of the document.
    struct Attachment: Sendable {
        let id: AttachmentID
        /// The value before the change; nil if there was none.
        let before: Value?
        /// The value after the change; nil if there is none any more.
        let after: Value?
        /// The history entry, if another machine made the change.
        var entry: String?
    }

    var id: Int64 = 0
    /// The number that the steps of one command share.
    var batch: Int64 = 0
    var kind: Kind
    var task: TaskID
    /// The task before the change; nil if it did not exist, or is not changed by the undo.
    var before: TaskItem?
    var after: TaskItem?
    /// The changed attachment, for the kinds of steps that concern one.
    var attachment: Attachment?

    init(_ kind: Kind, _ task: TaskID, attachment: Attachment) {
        self.init(kind, task)
        self.attachment = attachment
    }

    init(_ kind: Kind, _ task: TaskID, before: TaskItem? = nil, after: TaskItem? = nil) {
        self.kind = kind
        self.task = task
        self.before = before
        self.after = after
    }
}

/// The last changes, in the state file. The contents of tasks are kept as the texts of their files.
struct UndoSteps {
    private let database: SQLiteDatabase

    /// The number of steps that are kept of commands, and of changes from elsewhere.
    private static let limit: Int64 = 500
    private static let name = "undo.md"
    /// The number of versions by which an editor's buffer may be behind.
    private static let unseenLimit = 10

    init(_ transaction: ReplicaTransaction) {
        database = transaction.database
    }

    /// Adds the steps of one command.
    func add(_ steps: [UndoStep], at time: Int64) throws {
        guard !steps.isEmpty else { return }
        let batch = try ((database.first("SELECT max(id) FROM sync_step") { $0.int64(0) }) ?? 0) + 1
        for step in steps {
            if let attachment = step.attachment {
                try insert(
                    step, attachment.before?.encoded(), attachment.id.rawValue, attachment.after?.encoded(),
                    attachment.entry,
                    batch: batch, time)
                continue
            }
            let (before, after) = (Self.text(step.before), Self.text(step.after))
            // The change does not appear in the file, such as a snooze.
            if step.kind == .edit, before == after, step.before?.listId == step.after?.listId { continue }
            // A task that no file can represent cannot be restored from one.
            guard (before == nil) == (step.before == nil), (after == nil) == (step.after == nil) else { continue }
            try insert(
                step, before, step.before?.listId?.rawValue, after, step.after?.listId?.rawValue, batch: batch, time)
        }
        // Many changes from elsewhere must not displace the commands of this machine.
        let kind = steps.first?.kind.isOfCommand == true ? Self.ofCommands : "NOT (\(Self.ofCommands))"
        try database.execute(
            "DELETE FROM sync_step WHERE \(kind) AND id <= "
                + "(SELECT id FROM sync_step WHERE \(kind) ORDER BY id DESC LIMIT 1 OFFSET \(Self.limit))")
    }

    private static let ofCommands =
        "kind NOT IN (" + UndoStep.Kind.others.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"

    /// Whether there is a step for a history entry.
    func knows(entry: String, of task: TaskID) throws -> Bool {
        let sql = "SELECT 1 FROM sync_step WHERE task = ? AND kind = ? AND after_list = ? LIMIT 1"
        let values: [SQLiteValue] = [.id(task), .text(UndoStep.Kind.beside.rawValue), .text(entry)]
        return try database.first(sql, values) { _ in true } ?? false
    }

    /// Returns the step for a change by another machine that is written to a file; nil for a change
    /// by a command here, which has a step already.
    func syncStep(from old: FileRow, to new: FileRow) throws -> UndoStep? {
        guard old.bytes != new.bytes || old.list != new.list,
            let before = Self.item(old.bytes, old.list, old.path.name),
            let after = Self.item(new.bytes, new.list, new.path.name), !Self.saysTheSame(before, after)
        else { return nil }
        if let last = try last(of: new.task), let known = last.after, Self.saysTheSame(known, after) { return nil }
        return UndoStep(.sync, new.task, before: before, after: after)
    }

    /// Returns the values that the save of a file replaces unseen, which had just been written to
    /// it, with the step that undoes the save; nil if there are none.
    ///
    /// - Parameter came: The contents of the file when it was last in step.
    func unseenSave(
        of task: TaskID, over came: TaskItem, saved: TaskItem
    ) throws -> (step: UndoStep, displaced: [Merge.DisplacedValue])? {
        let latest = try steps("task = ?", [.id(task)], limit: Self.unseenLimit)
        var displaced: [Merge.DisplacedValue] = []
        if let last = latest.first, last.kind == .arrival {
            try database.execute("DELETE FROM sync_step WHERE id = ?", [.integer(last.id)])
            displaced = UnseenVersion.displaced(before: nil, came: came, saved: saved)
        }
        // The buffer may be older than several consecutive versions.
        var version = came
        for step in latest {
            guard [.sync, .edit, .undo].contains(step.kind), let after = step.after, let before = step.before,
                Self.saysTheSame(after, version)
            else { break }
            let all = UnseenVersion.displaced(before: before, came: came, saved: saved)
            if !all.isEmpty { displaced = all }
            version = before
        }
        return displaced.isEmpty ? nil : (UndoStep(.save, task, before: came, after: saved), displaced)
    }

    /// Returns the newest step of a task that was not undone.
    func last(undoable task: TaskID) throws -> UndoStep? {
        try steps("task = ? AND undone = 0", [.id(task)], limit: 1).first
    }

    /// Returns the steps of the newest command that was not undone.
    func lastCommand() throws -> [UndoStep] {
        guard let newest = try steps("\(Self.ofCommands) AND undone = 0", [], limit: 1).first else { return [] }
        return try steps("batch = ? AND undone = 0", [.integer(newest.batch)], limit: Int(Self.limit))
    }

    func markUndone(_ step: UndoStep) throws {
        try database.execute("UPDATE sync_step SET undone = 1 WHERE id = ?", [.integer(step.id)])
    }

    func last(of task: TaskID) throws -> UndoStep? { try steps("task = ?", [.id(task)], limit: 1).first }

    // MARK: Rows

    private func insert(
        _ step: UndoStep, _ before: [UInt8]?, _ beforeID: String?, _ after: [UInt8]?, _ afterEntry: String?,
        batch: Int64, _ time: Int64
    ) throws {
        try database.execute(
            "INSERT INTO sync_step(batch, task, kind, before, before_list, after, after_list, time, undone, sum) "
                + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, row_sum(?2, ?3, ?4, ?5, ?6, ?7))",
            [
                .integer(batch), .id(step.task), .text(step.kind.rawValue), before.map { .blob($0) } ?? .null,
                .optional(beforeID), after.map { .blob($0) } ?? .null, .optional(afterEntry), .integer(time),
                .integer([.undo, .arrival].contains(step.kind) ? 1 : 0),
            ])
    }

    private func steps(_ condition: String, _ values: [SQLiteValue], limit: Int) throws -> [UndoStep] {
        var steps: [UndoStep] = []
        try database.query(
            "SELECT id, batch, task, kind, before, before_list, after, after_list, sum FROM sync_step "
                + "WHERE \(condition) ORDER BY id DESC LIMIT \(limit)", values
        ) { row in
            // A damaged step cannot be undone.
            guard row.isIntact(2..<8, sum: 8), let kind = UndoStep.Kind(rawValue: row.text(3)) else { return }
            var step = UndoStep(kind, row.id(2))
            step.id = row.int64(0)
            step.batch = row.int64(1)
            if [.attachment, .beside].contains(kind) {
                guard let id: AttachmentID = row.optionalID(5) else { return }
                step.attachment = .init(
                    id: id, before: row.optionalBytes(4).flatMap { try? Value(decoding: $0) },
                    after: row.optionalBytes(6).flatMap { try? Value(decoding: $0) }, entry: row.optionalText(7))
                steps.append(step)
                return
            }
            step.before = row.optionalBytes(4).flatMap { Self.item($0, row.optionalID(5), Self.name) }
            step.after = row.optionalBytes(6).flatMap { Self.item($0, row.optionalID(7), Self.name) }
            steps.append(step)
        }
        return steps
    }

    private static func text(_ item: TaskItem?) -> [UInt8]? {
        item.flatMap { try? TaskFile.make(for: $0, named: name, writesTitle: true).bytes }
    }

    private static func item(_ bytes: [UInt8], _ list: ListID?, _ name: String) -> TaskItem? {
        guard var item = try? TaskFile(parsing: bytes, named: name).item else { return nil }
        item.listId = list
        return item
    }

    static func saysTheSame(_ left: TaskItem, _ right: TaskItem) -> Bool {
        TaskDiff(from: left, to: right).isEmpty
    }
}

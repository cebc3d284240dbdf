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
        /// Came from another machine.
        case sync
        /// Undid another step; not undone itself.
        case undo
        /// A command removed an attachment, or brought one back.
        case attachment
        /// An attachment was removed or replaced as a file, or on another machine.
        case beside
        /// A file was saved over what had come a moment before.
        case save
        /// The task's file got the name that another task's file had a moment before; not undone itself.
        case arrival

        /// Whether a command of this machine made it.
        var isOfCommand: Bool { !Self.others.contains(self) }

        fileprivate static let others = [Kind.sync, .beside, .save, .arrival]
    }

    /// What became of one attachment of a task, as the document's values.
    struct Attachment: Sendable {
        let id: String
        /// nil: there was none.
        let before: Value?
        /// nil: there is none any more.
        let after: Value?
        /// The history entry of another machine's change.
        var entry: String?
    }

    var id: Int64 = 0
    /// Steps of one command have the same.
    var batch: Int64 = 0
    var kind: Kind
    var task: String
    /// nil where the task was not there, or was and is left as it is.
    var before: TaskItem?
    var after: TaskItem?
    /// Of the kinds that are about an attachment.
    var attachment: Attachment?

    init(_ kind: Kind, _ task: String, attachment: Attachment) {
        self.init(kind, task)
        self.attachment = attachment
    }

    init(_ kind: Kind, _ task: String, before: TaskItem? = nil, after: TaskItem? = nil) {
        self.kind = kind
        self.task = task
        self.before = before
        self.after = after
    }
}

/// The last changes, in the replica's file. What a task said is kept as the text of its file.
struct UndoSteps {
    private let database: SQLiteDatabase

    /// As many are kept of commands, and as many of changes from elsewhere.
    private static let limit: Int64 = 500
    private static let name = "undo.md"
    /// The versions that a buffer may be behind.
    private static let unseenLimit = 10

    init(_ transaction: ReplicaTransaction) {
        database = transaction.database
    }

    /// Steps of one command.
    func add(_ steps: [UndoStep], at time: Int64) throws {
        guard !steps.isEmpty else { return }
        let batch = try ((database.first("SELECT max(id) FROM sync_step") { $0.int64(0) }) ?? 0) + 1
        for step in steps {
            if let attachment = step.attachment {
                try insert(
                    step, attachment.before?.encoded(), attachment.id, attachment.after?.encoded(), attachment.entry,
                    batch: batch, time)
                continue
            }
            let (before, after) = (Self.text(step.before), Self.text(step.after))
            // A change that no file shows, such as a snooze.
            if step.kind == .edit, before == after, step.before?.listId == step.after?.listId { continue }
            // What no file can say cannot be brought back from one.
            guard (before == nil) == (step.before == nil), (after == nil) == (step.after == nil) else { continue }
            try insert(step, before, step.before?.listId, after, step.after?.listId, batch: batch, time)
        }
        // Many changes from elsewhere must not drive out the commands of this machine.
        let kind = steps.first?.kind.isOfCommand == true ? Self.ofCommands : "NOT (\(Self.ofCommands))"
        try database.execute(
            "DELETE FROM sync_step WHERE \(kind) AND id <= "
                + "(SELECT id FROM sync_step WHERE \(kind) ORDER BY id DESC LIMIT 1 OFFSET \(Self.limit))")
    }

    private static let ofCommands =
        "kind NOT IN (" + UndoStep.Kind.others.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"

    /// Whether there is a step of a history entry already.
    func knows(entry: String, of task: String) throws -> Bool {
        let sql = "SELECT 1 FROM sync_step WHERE task = ? AND kind = ? AND after_list = ? LIMIT 1"
        let values: [SQLiteValue] = [.text(task), .text(UndoStep.Kind.beside.rawValue), .text(entry)]
        return try database.first(sql, values) { _ in true } ?? false
    }

    /// Another machine's change that is written to a file; nil for one that a command made here,
    /// which is known already.
    func syncStep(from old: FileRow, to new: FileRow) throws -> UndoStep? {
        guard old.bytes != new.bytes || old.list != new.list,
            let before = Self.item(old.bytes, old.list, old.path.name),
            let after = Self.item(new.bytes, new.list, new.path.name), !Self.saysTheSame(before, after)
        else { return nil }
        if let last = try last(of: new.task), let known = last.after, Self.saysTheSame(known, after) { return nil }
        return UndoStep(.sync, new.task, before: before, after: after)
    }

    /// What a save of a file puts away unseen of the version that had come to it a moment before,
    /// with the step that undoes the save; nil where it puts nothing away.
    ///
    /// - Parameter came: what the file said when it was last in step.
    func unseenSave(
        of task: String, over came: TaskItem, saved: TaskItem
    ) throws -> (step: UndoStep, displaced: [Merge.DisplacedValue])? {
        let latest = try steps("task = ?", [.text(task)], limit: Self.unseenLimit)
        var displaced: [Merge.DisplacedValue] = []
        if let last = latest.first, last.kind == .arrival {
            try database.execute("DELETE FROM sync_step WHERE id = ?", [.integer(last.id)])
            displaced = UnseenVersion.displaced(before: nil, came: came, saved: saved)
        }
        // The buffer may be from before several versions that came one after the other.
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

    /// The newest step of a task that has not been undone.
    func last(undoable task: String) throws -> UndoStep? {
        try steps("task = ? AND undone = 0", [.text(task)], limit: 1).first
    }

    /// The steps of the newest command that has not been undone.
    func lastCommand() throws -> [UndoStep] {
        guard let newest = try steps("\(Self.ofCommands) AND undone = 0", [], limit: 1).first else { return [] }
        return try steps("batch = ? AND undone = 0", [.integer(newest.batch)], limit: Int(Self.limit))
    }

    func markUndone(_ step: UndoStep) throws {
        try database.execute("UPDATE sync_step SET undone = 1 WHERE id = ?", [.integer(step.id)])
    }

    func last(of task: String) throws -> UndoStep? { try steps("task = ?", [.text(task)], limit: 1).first }

    // MARK: Rows

    private func insert(
        _ step: UndoStep, _ before: [UInt8]?, _ beforeList: String?, _ after: [UInt8]?, _ afterList: String?,
        batch: Int64, _ time: Int64
    ) throws {
        try database.execute(
            "INSERT INTO sync_step(batch, task, kind, before, before_list, after, after_list, time, undone, sum) "
                + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, row_sum(?2, ?3, ?4, ?5, ?6, ?7))",
            [
                .integer(batch), .text(step.task), .text(step.kind.rawValue), before.map { .blob($0) } ?? .null,
                .optional(beforeList), after.map { .blob($0) } ?? .null, .optional(afterList), .integer(time),
                .integer([.undo, .arrival].contains(step.kind) ? 1 : 0),
            ])
    }

    private func steps(_ condition: String, _ values: [SQLiteValue], limit: Int) throws -> [UndoStep] {
        var steps: [UndoStep] = []
        try database.query(
            "SELECT id, batch, task, kind, before, before_list, after, after_list, sum FROM sync_step "
                + "WHERE \(condition) ORDER BY id DESC LIMIT \(limit)", values
        ) { row in
            // What cannot be trusted cannot be brought back.
            guard row.isIntact(2..<8, sum: 8), let kind = UndoStep.Kind(rawValue: row.text(3)) else { return }
            var step = UndoStep(kind, row.text(2))
            step.id = row.int64(0)
            step.batch = row.int64(1)
            if [.attachment, .beside].contains(kind) {
                guard let id = row.optionalText(5) else { return }
                step.attachment = .init(
                    id: id, before: row.optionalBytes(4).flatMap { try? Value(decoding: $0) },
                    after: row.optionalBytes(6).flatMap { try? Value(decoding: $0) }, entry: row.optionalText(7))
                steps.append(step)
                return
            }
            step.before = row.optionalBytes(4).flatMap { Self.item($0, row.optionalText(5), Self.name) }
            step.after = row.optionalBytes(6).flatMap { Self.item($0, row.optionalText(7), Self.name) }
            steps.append(step)
        }
        return steps
    }

    private static func text(_ item: TaskItem?) -> [UInt8]? {
        item.flatMap { try? TaskFile.make(for: $0, named: name, writesTitle: true).bytes }
    }

    private static func item(_ bytes: [UInt8], _ list: String?, _ name: String) -> TaskItem? {
        guard var item = try? TaskFile(parsing: bytes, named: name).item else { return nil }
        item.listId = list
        return item
    }

    static func saysTheSame(_ left: TaskItem, _ right: TaskItem) -> Bool {
        TaskDiff(from: left, to: right).isEmpty
    }
}

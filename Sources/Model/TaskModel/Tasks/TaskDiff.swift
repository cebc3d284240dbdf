public import DocumentModel

/// The changes between two states of a task, in the form of a masked write.
public struct TaskDiff: Sendable, Hashable {
    /// One field's new value.
    public struct Change: Sendable, Hashable {
        /// The path of the field.
        public var path: FieldPath
        /// The new value; nil deletes the field.
        public var value: Value?
    }

    /// The changes in a fixed order.
    ///
    /// `fields`, `instances`, `snoozes` and `attachments` are changed by element, `tags` and `notes` as a whole. Fields
    /// that only make sense together (`due`, `dueHasTime`, `fields.due`) are changed together.
    public private(set) var changes: [Change] = []
    /// The fields that are set to the time of the commit: `updatedTime` with every change,
    /// `createdTime` for a new task, `completedTime` and `deletedTime` when the task is completed
    /// or moved to the trash.
    public private(set) var serverTimes: [FieldPath] = []

    /// Whether there is nothing to write.
    public var isEmpty: Bool { changes.isEmpty && serverTimes.isEmpty }

    /// Creates the changes that turn `old` into `new`; all fields of `new` if `old` is nil.
    ///
    /// Times that a server assigns are not compared, apart from whether the task is in the trash.
    public init(from old: TaskItem?, to new: TaskItem) {
        let isNew = old == nil
        let old = old ?? TaskItem(title: "")
        if isNew || !old.title.isIdentical(to: new.title) { set("title", .string(new.title)) }
        if old.priority != new.priority { set("priority", new.priority.map { .integer($0.rawValue) }) }
        if isNew || old.completed != new.completed {
            set("completed", .boolean(new.completed))
            if new.completed {
                serverTimes.append(FieldPath(key: "completedTime"))
            } else if !isNew {
                set("completedTime", nil)
            }
        }
        if old.due != new.due {
            set("due", new.due.map { .timestamp($0.timestamp) })
            set("dueHasTime", new.due.map { .boolean($0.hasTime) })
        }
        if !old.tags.elementsEqual(new.tags, by: { $0.isIdentical(to: $1) }) {
            set("tags", new.tags.isEmpty ? nil : .array(new.tags.map { .string($0) }))
        }
        if !old.notes.isIdentical(to: new.notes) { set("notes", new.notes.isEmpty ? nil : .string(new.notes)) }
        if old.listId != new.listId { set("listId", new.listId.map { .string($0.rawValue) }) }
        if old.userId != new.userId { set("userId", new.userId.map { .string($0.rawValue) }) }
        setElements("fields", from: old.customFields, to: new.customFields)
        setElements("instances", from: old.instanceValues, to: new.instanceValues)
        setElements("snoozes", from: old.snoozeValues, to: new.snoozeValues)
        setElements("attachments", from: old.attachmentValues, to: new.attachmentValues)
        if old.isDeleted != new.isDeleted {
            if new.isDeleted { serverTimes.append(FieldPath(key: "deletedTime")) } else { set("deletedTime", nil) }
        }
        guard isNew || !isEmpty else { return }
        serverTimes.append(FieldPath(key: "updatedTime"))
        if isNew { serverTimes.append(FieldPath(key: "createdTime")) }
    }

    /// Returns the changes as one write: a mask of the changed paths, their values, and server
    /// times as transforms.
    public func write(to name: DocumentName, if precondition: Precondition? = nil) -> Write {
        var fields: [String: Value] = [:]
        for change in changes {
            guard let value = change.value else { continue }
            fields.setValue(value, at: change.path.segments[...])
        }
        return Write(
            .update(name, fields: fields), mask: changes.map(\.path),
            transforms: serverTimes.map { FieldTransform($0, .serverTimestamp) }, precondition: precondition)
    }

    private mutating func set(_ key: String, _ value: Value?) {
        changes.append(Change(path: FieldPath(key: key), value: value))
    }

    private mutating func setElements(_ key: String, from old: [String: Value], to new: [String: Value]) {
        let path = FieldPath(key: key)
        for element in Set(old.keys).union(new.keys).sorted() where old[element] != new[element] {
            changes.append(Change(path: path.appending(element), value: new[element]))
        }
    }
}

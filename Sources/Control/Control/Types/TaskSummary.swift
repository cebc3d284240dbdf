package import JSON

/// A task as `ferry list` displays it.
package struct TaskSummary: JSONCodable, Hashable {
    /// Whether the task is in sync, or why it is not.
    package enum Sync: String, Sendable {
        /// The remote has acknowledged all changes.
        case synced
        /// Local changes are not acknowledged by the remote yet.
        case pending
        /// A merge has displaced a value; see `ferry conflicts`.
        case conflict
        /// The file cannot be synced, or the remote has rejected it; see `ferry status`.
        case problem
        case unknown
    }

    package enum Priority: String, Sendable, CaseIterable {
        case high
        case medium
        case low
        case none
    }

    /// The progress of a checklist.
    package struct Checklist: Sendable, Hashable {
        package var doneCount: Int
        package var count: Int

        package init(doneCount: Int, count: Int) {
            self.doneCount = doneCount
            self.count = count
        }
    }

    package var id: String
    package var title: String
    package var isCompleted: Bool
    package var priority: Priority
    /// The due date, `2026-11-30`, or an RFC 3339 time with an offset; nil if there is none.
    package var due: String?
    /// The due time on the clocks of this device, `2026-11-30T17:00`, if `due` has an offset or the task
    /// a time zone; nil otherwise.
    package var localDue: String?
    package var tags: [String]
    /// The name of the list; empty for the default list.
    package var list: String
    package var attachmentCount: Int
    /// The numbers of items of the checklists in the notes: those that are done, and all; nil if there
    /// are none.
    package var checklist: Checklist?
    package var sync: Sync
    /// The path of the file relative to the tasks directory; nil while there is no file.
    package var path: String?

    package init(
        id: String, title: String, isCompleted: Bool = false, priority: Priority = .none, due: String? = nil,
        tags: [String] = [], list: String = "", attachmentCount: Int = 0, sync: Sync = .synced, path: String? = nil
    ) {
        self.id = id
        self.title = title
        self.isCompleted = isCompleted
        self.priority = priority
        self.due = due
        self.tags = tags
        self.list = list
        self.attachmentCount = attachmentCount
        self.sync = sync
        self.path = path
    }

    package init(json: JSON) throws(ControlError) {
        self = .blank
        for (key, value) in json.objectValue ?? [:] { set(key, value) }
        try validate()
    }

    /// A summary without the required members.
    static var blank: TaskSummary { TaskSummary(id: "", title: "", sync: .unknown) }

    mutating func set(_ key: String, _ value: JSON) {
        switch key {
        case "id": id = value.stringValue ?? ""
        case "title": title = value.stringValue ?? ""
        case "completed": isCompleted = value.booleanValue ?? false
        case "priority": priority = value.stringValue.flatMap(Priority.init) ?? .none
        case "due": due = value.stringValue
        case "localDue": localDue = value.stringValue
        case "tags": tags = value.arrayValue?.compactMap(\.stringValue) ?? []
        case "list": list = value.stringValue ?? ""
        case "attachments": attachmentCount = Int(value.integerValue ?? 0)
        case "checklist":
            checklist = value["items"]?.integerValue.map {
                Checklist(doneCount: Int(clamping: value["done"]?.integerValue ?? 0), count: Int(clamping: $0))
            }
        case "sync": sync = value.stringValue.flatMap(Sync.init) ?? .unknown
        case "path": path = value.stringValue
        default: break
        }
    }

    func validate() throws(ControlError) {
        if id.isEmpty { throw .malformed("'id' must be a string") }
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("title", title.asJSON), ("completed", isCompleted.ifTrue),
            ("priority", priority == .none ? nil : priority.rawValue.asJSON), ("due", due?.asJSON),
            ("localDue", localDue?.asJSON), ("tags", tags.ifAny),
            ("list", list.isEmpty ? nil : list.asJSON),
            ("attachments", attachmentCount == 0 ? nil : attachmentCount.asJSON),
            ("checklist", checklist.map { .members(("done", $0.doneCount.asJSON), ("items", $0.count.asJSON)) }),
            ("sync", sync.rawValue.asJSON),
            ("path", path?.asJSON))
    }
}

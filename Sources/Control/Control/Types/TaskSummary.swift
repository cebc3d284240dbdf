package import JSON

/// What `ferry list` shows of a task.
package struct TaskSummary: JSONCodable, Hashable {
    package enum Sync: String, Sendable {
        /// The remote has acknowledged everything.
        case synced
        /// Local changes wait for the remote.
        case pending
        /// A merge displaced a value; see `ferry conflicts`.
        case conflict
        /// The file cannot be synced, or the remote refused it; see `ferry status`.
        case problem
        case unknown
    }

    package enum Priority: String, Sendable, CaseIterable {
        case high
        case medium
        case low
        case none
    }

    package var id: String
    package var title: String
    package var isCompleted: Bool
    package var priority: Priority
    /// `2026-11-30`, or RFC 3339 with time and offset.
    package var due: String?
    package var tags: [String]
    /// The list's name; empty for the default list.
    package var list: String
    package var attachmentCount: Int
    package var sync: Sync
    /// Relative to the tasks directory; nil while there is no file.
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

    /// Without the members that must be there.
    static var blank: TaskSummary { TaskSummary(id: "", title: "", sync: .unknown) }

    mutating func set(_ key: String, _ value: JSON) {
        switch key {
        case "id": id = value.stringValue ?? ""
        case "title": title = value.stringValue ?? ""
        case "completed": isCompleted = value.booleanValue ?? false
        case "priority": priority = value.stringValue.flatMap(Priority.init) ?? .none
        case "due": due = value.stringValue
        case "tags": tags = value.arrayValue?.compactMap(\.stringValue) ?? []
        case "list": list = value.stringValue ?? ""
        case "attachments": attachmentCount = Int(value.integerValue ?? 0)
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
            ("tags", tags.ifAny),
            ("list", list.isEmpty ? nil : list.asJSON),
            ("attachments", attachmentCount == 0 ? nil : attachmentCount.asJSON), ("sync", sync.rawValue.asJSON),
            ("path", path?.asJSON))
    }
}

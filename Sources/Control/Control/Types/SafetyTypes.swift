package import JSON

/// A delete that waits for approval because it came with too many others.
package struct HeldDelete: JSONCodable, Hashable {
    package var taskID: String
    package var title: String
    package var list: String
    /// RFC 3339 by the local clock, for reading only.
    package var since: String

    package init(taskID: String, title: String, list: String, since: String) {
        self.taskID = taskID
        self.title = title
        self.list = list
        self.since = since
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("taskId"), title: try json.string("title"), list: json["list"]?.stringValue ?? "",
            since: json["since"]?.stringValue ?? "")
    }

    package var json: JSON {
        .members(("taskId", taskID.asJSON), ("title", title.asJSON), ("list", list.asJSON), ("since", since.asJSON))
    }
}

/// A task in the trash.
package struct TrashedTask: JSONCodable, Hashable {
    package var taskID: String
    package var title: String
    package var list: String
    /// The remote's timestamp, RFC 3339; nil until it has ordered the delete.
    package var deletedTime: String?
    /// Until when it is kept, RFC 3339; nil for ever, or until the remote has ordered the delete.
    package var keptUntil: String?

    package init(taskID: String, title: String, list: String, deletedTime: String?, keptUntil: String? = nil) {
        self.taskID = taskID
        self.title = title
        self.list = list
        self.deletedTime = deletedTime
        self.keptUntil = keptUntil
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("taskId"), title: try json.string("title"), list: json["list"]?.stringValue ?? "",
            deletedTime: json["deletedTime"]?.stringValue, keptUntil: json["keptUntil"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("taskId", taskID.asJSON), ("title", title.asJSON), ("list", list.asJSON),
            ("deletedTime", deletedTime?.asJSON), ("keptUntil", keptUntil?.asJSON))
    }
}

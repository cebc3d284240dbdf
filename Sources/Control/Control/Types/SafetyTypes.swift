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

    package init(taskID: String, title: String, list: String, deletedTime: String?) {
        self.taskID = taskID
        self.title = title
        self.list = list
        self.deletedTime = deletedTime
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("taskId"), title: try json.string("title"), list: json["list"]?.stringValue ?? "",
            deletedTime: json["deletedTime"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("taskId", taskID.asJSON), ("title", title.asJSON), ("list", list.asJSON),
            ("deletedTime", deletedTime?.asJSON))
    }
}

/// A value that a merge displaced and that nobody has looked at yet.
package struct ConflictSummary: JSONCodable, Hashable {
    package var id: String
    package var taskID: String
    package var title: String
    package var field: String
    /// The value that stands, as text.
    package var standing: String
    /// The value that was displaced, as text.
    package var displaced: String
    /// RFC 3339, the remote's timestamp of the commit that displaced it.
    package var replacedTime: String?
    package var replica: String
    package var reason: String

    package init(
        id: String, taskID: String, title: String, field: String, standing: String, displaced: String,
        replacedTime: String?, replica: String, reason: String
    ) {
        self.id = id
        self.taskID = taskID
        self.title = title
        self.field = field
        self.standing = standing
        self.displaced = displaced
        self.replacedTime = replacedTime
        self.replica = replica
        self.reason = reason
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), taskID: try json.string("taskId"), title: try json.string("title"),
            field: try json.string("field"), standing: json["standing"]?.stringValue ?? "",
            displaced: json["displaced"]?.stringValue ?? "", replacedTime: json["replacedTime"]?.stringValue,
            replica: json["replica"]?.stringValue ?? "", reason: json["reason"]?.stringValue ?? "")
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("taskId", taskID.asJSON), ("title", title.asJSON), ("field", field.asJSON),
            ("standing", standing.asJSON), ("displaced", displaced.asJSON), ("replacedTime", replacedTime?.asJSON),
            ("replica", replica.asJSON), ("reason", reason.asJSON))
    }
}

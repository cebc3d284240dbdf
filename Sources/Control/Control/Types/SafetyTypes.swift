package import JSON

/// A delete, or a file that went back to an older version, that waits for approval because too
/// many came at once.
package struct HeldDelete: JSONCodable, Hashable {
    package var taskID: String
    package var title: String
    package var list: String
    /// The time since which the delete is held, in RFC 3339 by the local clock. It is only for
    /// display.
    package var since: String
    /// Whether the file went back to an older version; otherwise it was deleted.
    package var isRevert: Bool

    package init(taskID: String, title: String, list: String, since: String, isRevert: Bool = false) {
        self.taskID = taskID
        self.title = title
        self.list = list
        self.since = since
        self.isRevert = isRevert
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("taskId"), title: try json.string("title"), list: json["list"]?.stringValue ?? "",
            since: json["since"]?.stringValue ?? "", isRevert: json["kind"]?.stringValue == Self.revert)
    }

    private static let revert = "revert"

    package var json: JSON {
        .members(
            ("taskId", taskID.asJSON), ("title", title.asJSON), ("list", list.asJSON), ("since", since.asJSON),
            ("kind", (isRevert ? Self.revert : "delete").asJSON))
    }
}

/// A task in the trash, or an attachment of a task that was removed or replaced.
package struct TrashedTask: JSONCodable, Hashable {
    package var taskID: String
    /// The argument of `restore`, or its beginning: the id of a task, or the handle of a history entry.
    package var id: String
    /// The attachment's name; nil for a task.
    package var attachment: String?
    /// The attachment's size in bytes, where it is known.
    package var size: Int64?
    package var title: String
    package var list: String
    /// The time of the delete, in RFC 3339 by the remote's clock; nil until the remote has ordered
    /// it.
    package var deletedTime: String?
    /// The time until which the task is kept, in RFC 3339; nil if it is kept forever or the remote
    /// has not ordered the delete.
    package var keptUntil: String?

    package init(
        taskID: String, id: String? = nil, attachment: String? = nil, size: Int64? = nil, title: String, list: String,
        deletedTime: String?, keptUntil: String? = nil
    ) {
        self.taskID = taskID
        self.id = id ?? taskID
        self.attachment = attachment
        self.size = size
        self.title = title
        self.list = list
        self.deletedTime = deletedTime
        self.keptUntil = keptUntil
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("taskId"), id: json["id"]?.stringValue, attachment: json["attachment"]?.stringValue,
            size: json["size"]?.integerValue, title: try json.string("title"), list: json["list"]?.stringValue ?? "",
            deletedTime: json["deletedTime"]?.stringValue, keptUntil: json["keptUntil"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("taskId", taskID.asJSON), ("id", id.asJSON), ("attachment", attachment?.asJSON), ("size", size?.asJSON),
            ("title", title.asJSON), ("list", list.asJSON),
            ("deletedTime", deletedTime?.asJSON), ("keptUntil", keptUntil?.asJSON))
    }
}

extension [TrashedTask] {
    package var tasks: Self { filter { $0.attachment == nil } }
    package var attachments: Self { filter { $0.attachment != nil } }
}

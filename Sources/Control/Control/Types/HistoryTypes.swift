package import JSON

/// A value that a merge has displaced. It is a conflict until the user has resolved it, and stays
/// in the history.
package struct ConflictSummary: JSONCodable, Hashable {
    package var id: String
    /// A short id for users to type. Commands accept it, or a prefix of it, instead of the id.
    package var handle: String
    package var taskID: String
    package var title: String
    /// The path of the field in the document of the task, or `__document__`.
    package var field: String
    /// The name of the field for users: `due`, `list`, `attachment a.pdf`.
    package var label: String
    /// The current value as text; empty if there is none.
    package var standing: String
    /// The displaced value as text; empty if there was none.
    package var displaced: String
    /// The time of the commit that displaced the value, in RFC 3339 by the remote's clock; nil
    /// until the remote has ordered it.
    package var replacedTime: String?
    /// The id of the replica whose change displaced the value, followed by the name of its device.
    package var replica: String
    package var device: String
    /// The device that set the current value, followed by the time by the remote's clock.
    package var standingDevice: String?
    package var standingTime: String?
    /// The device that set the displaced value, followed by the time by the remote's clock; nil if
    /// they are not known.
    package var displacedDevice: String?
    package var displacedTime: String?
    /// The reason: `changedOnBothSides`, `overlappingText`, or `editSurvivesDelete`; `removed` or `replaced`
    /// for a user's own change, which is no conflict.
    package var reason: String
    /// The explanation for the user, one sentence.
    package var explanation: String
    /// Whether the conflict is not resolved yet.
    package var isOpen: Bool

    package init(
        id: String, handle: String, taskID: String, title: String, field: String, label: String, standing: String,
        displaced: String, replacedTime: String?, replica: String, device: String, standingDevice: String? = nil,
        standingTime: String? = nil, displacedDevice: String? = nil, displacedTime: String? = nil, reason: String,
        explanation: String, isOpen: Bool = true
    ) {
        self.id = id
        self.handle = handle
        self.taskID = taskID
        self.title = title
        self.field = field
        self.label = label
        self.standing = standing
        self.displaced = displaced
        self.replacedTime = replacedTime
        self.replica = replica
        self.device = device
        self.standingDevice = standingDevice
        self.standingTime = standingTime
        self.displacedDevice = displacedDevice
        self.displacedTime = displacedTime
        self.reason = reason
        self.explanation = explanation
        self.isOpen = isOpen
    }

    package init(json: JSON) throws(ControlError) {
        let (id, field) = (try json.string("id"), try json.string("field"))
        self.init(
            id: id, handle: json["handle"]?.stringValue ?? id, taskID: try json.string("taskId"),
            title: try json.string("title"),
            field: field, label: json["label"]?.stringValue ?? field, standing: json["standing"]?.stringValue ?? "",
            displaced: json["displaced"]?.stringValue ?? "", replacedTime: json["replacedTime"]?.stringValue,
            replica: json["replica"]?.stringValue ?? "", device: json["device"]?.stringValue ?? "",
            standingDevice: json["standingDevice"]?.stringValue, standingTime: json["standingTime"]?.stringValue,
            displacedDevice: json["displacedDevice"]?.stringValue, displacedTime: json["displacedTime"]?.stringValue,
            reason: json["reason"]?.stringValue ?? "", explanation: json["explanation"]?.stringValue ?? "",
            isOpen: json["open"]?.booleanValue ?? true)
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("handle", handle.asJSON), ("taskId", taskID.asJSON), ("title", title.asJSON),
            ("field", field.asJSON),
            ("label", label.asJSON), ("standing", standing.asJSON), ("displaced", displaced.asJSON),
            ("replacedTime", replacedTime?.asJSON), ("replica", replica.asJSON), ("device", device.asJSON),
            ("standingDevice", standingDevice?.asJSON), ("standingTime", standingTime?.asJSON),
            ("displacedDevice", displacedDevice?.asJSON), ("displacedTime", displacedTime?.asJSON),
            ("reason", reason.asJSON), ("explanation", explanation.asJSON), ("open", isOpen.asJSON))
    }
}

/// The origin of each value of a task.
package struct TaskExplanation: JSONCodable, Hashable {
    package var task: TaskSummary
    package var fields: [FieldExplanation]
    /// Further sentences for the user, for example on a change by a program without a name, or on
    /// what keeps the task out of sync.
    package var remarks: [String]

    package init(task: TaskSummary, fields: [FieldExplanation], remarks: [String] = []) {
        self.task = task
        self.fields = fields
        self.remarks = remarks
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            task: try TaskSummary(json: json["task"] ?? .null), fields: try json.list("fields"),
            remarks: json.strings("remarks"))
    }

    package var json: JSON {
        .members(("schemaVersion", 1), ("task", task.json), ("fields", fields.json), ("remarks", remarks.ifAny))
    }
}

/// The origin of one field of a task.
package struct FieldExplanation: JSONCodable, Hashable {
    /// The path of the field in the document of the task.
    package var field: String
    /// The name of the field for users.
    package var label: String
    /// The value as text.
    package var value: String
    package var device: String
    /// The time of the commit, in RFC 3339 by the remote's clock; nil until the remote has ordered
    /// it.
    package var time: String?
    /// The rule that decided: `created`, `changed`, `merged`, `changedOnBothSides` or
    /// `overlappingText`.
    package var rule: String
    /// The rule as a sentence for the user.
    package var explanation: String

    package init(
        field: String, label: String, value: String, device: String, time: String?, rule: String, explanation: String
    ) {
        self.field = field
        self.label = label
        self.value = value
        self.device = device
        self.time = time
        self.rule = rule
        self.explanation = explanation
    }

    package init(json: JSON) throws(ControlError) {
        let field = try json.string("field")
        self.init(
            field: field, label: json["label"]?.stringValue ?? field, value: json["value"]?.stringValue ?? "",
            device: json["device"]?.stringValue ?? "", time: json["time"]?.stringValue,
            rule: json["rule"]?.stringValue ?? "", explanation: json["explanation"]?.stringValue ?? "")
    }

    package var json: JSON {
        .members(
            ("field", field.asJSON), ("label", label.asJSON), ("value", value.asJSON), ("device", device.asJSON),
            ("time", time?.asJSON), ("rule", rule.asJSON), ("explanation", explanation.asJSON))
    }
}

/// The effect of undoing on one task.
package struct UndoneSummary: JSONCodable, Hashable {
    package var taskID: String
    package var title: String
    /// Sentences for the user: what happened to the task and its fields, and what was not changed.
    package var effects: [String]

    package init(taskID: String, title: String, effects: [String]) {
        self.taskID = taskID
        self.title = title
        self.effects = effects
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("taskId"), title: try json.string("title"), effects: json.strings("effects"))
    }

    package var json: JSON {
        .members(("taskId", taskID.asJSON), ("title", title.asJSON), ("effects", effects.asJSON))
    }
}

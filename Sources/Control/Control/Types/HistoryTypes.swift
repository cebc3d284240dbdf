package import JSON

/// A value that a merge displaced: a conflict until somebody has looked at it, and history for good.
package struct ConflictSummary: JSONCodable, Hashable {
    package var id: String
    /// Short, for people to type; commands take it, or its beginning, for the id.
    package var handle: String
    package var taskID: String
    package var title: String
    /// The field's path in the task's document, or `__document__`.
    package var field: String
    /// The field as people say it: `due`, `list`, `attachment a.pdf`.
    package var label: String
    /// The value that stands, in words; empty where there is none.
    package var standing: String
    /// The value that was displaced, in words; empty where there was none.
    package var displaced: String
    /// RFC 3339, the remote's timestamp of the commit that displaced it; nil until it is ordered.
    package var replacedTime: String?
    /// Whose change displaced it: the id of a replica, and the name of its device.
    package var replica: String
    package var device: String
    /// Who set the value that stands now, and when by the remote's clock.
    package var standingDevice: String?
    package var standingTime: String?
    /// Who had set the displaced value, and when by the remote's clock; nil where that is not known.
    package var displacedDevice: String?
    package var displacedTime: String?
    /// `changedOnBothSides`, `overlappingText`, `editSurvivesDelete`.
    package var reason: String
    /// What happened, as one sentence.
    package var explanation: String
    /// Whether it waits for somebody to look at it.
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

/// Why a task says what it says.
package struct TaskExplanation: JSONCodable, Hashable {
    package var task: TaskSummary
    package var fields: [FieldExplanation]
    /// What else there is to know: a change by a program that leaves no name, what keeps the task out of sync.
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

/// Who made one field of a task what it is.
package struct FieldExplanation: JSONCodable, Hashable {
    /// The field's path in the task's document.
    package var field: String
    /// The field as people say it.
    package var label: String
    /// In words.
    package var value: String
    package var device: String
    /// RFC 3339, the remote's time of the commit; nil until it is ordered.
    package var time: String?
    /// `created`, `changed`, `merged`, `changedOnBothSides` or `overlappingText`.
    package var rule: String
    /// The rule as a sentence.
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

/// What undoing did to one task, or would do.
package struct UndoneSummary: JSONCodable, Hashable {
    package var taskID: String
    package var title: String
    /// Sentences: what became of the task and its fields, and what was left alone.
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

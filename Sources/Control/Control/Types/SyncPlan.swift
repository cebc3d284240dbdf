package import JSON

/// The steps that a sync would perform now.
package struct SyncPlan: JSONCodable, Hashable {
    /// The reason why they cannot be performed, or why they are not completely known: paused,
    /// offline, or an unknown directory.
    package var remark: String?
    package var steps: [Step]

    /// One step of a sync.
    package struct Step: JSONCodable, Hashable {
        /// The kind of the step: `send`, `upload`, `delete`, `hold`, `write`, `download`, `remove`
        /// or `leave`.
        package var action: String
        /// The subject of the step: a path relative to the tasks directory, or a title.
        package var subject: String
        package var taskID: String?
        /// Further details in a few words.
        package var detail: String?
        /// The size of an attachment in bytes.
        package var size: Int64?

        package init(action: String, subject: String, taskID: String?, detail: String?, size: Int64?) {
            self.action = action
            self.subject = subject
            self.taskID = taskID
            self.detail = detail
            self.size = size
        }

        package init(json: JSON) throws(ControlError) {
            self.init(
                action: try json.string("action"), subject: try json.string("subject"),
                taskID: json["taskId"]?.stringValue, detail: json["detail"]?.stringValue,
                size: json["size"]?.integerValue)
        }

        package var json: JSON {
            .members(
                ("action", action.asJSON), ("subject", subject.asJSON), ("taskId", taskID?.asJSON),
                ("detail", detail?.asJSON), ("size", size?.asJSON))
        }
    }

    package init(remark: String?, steps: [Step]) {
        self.remark = remark
        self.steps = steps
    }

    package init(json: JSON) throws(ControlError) {
        self.init(remark: json["remark"]?.stringValue, steps: try json.list("steps"))
    }

    package var json: JSON {
        .members(("schemaVersion", 1), ("remark", remark?.asJSON), ("steps", steps.json))
    }
}

package import JSON

/// What a sync would do now.
package struct SyncPlan: JSONCodable, Hashable {
    /// What keeps it from being done, and what is not known: paused, offline, the directory is not the known one.
    package var remark: String?
    package var steps: [Step]

    package struct Step: JSONCodable, Hashable {
        /// `send`, `upload`, `delete`, `hold`, `write`, `download`, `remove` or `leave`.
        package var action: String
        /// A path relative to the tasks directory, or a title.
        package var subject: String
        package var taskID: String?
        /// What about it, in a few words.
        package var detail: String?
        /// Bytes of an attachment.
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

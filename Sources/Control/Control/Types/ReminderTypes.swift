package import JSON

/// A reminder of a task.
package struct ReminderSummary: JSONCodable, Hashable {
    package enum State: String, Sendable {
        /// Its time has not come.
        case next
        /// It is due, and this device has not shown it.
        case waiting
        /// This device has shown it.
        case shown
        case unknown
    }

    package var taskID: String
    package var title: String
    /// RFC 3339.
    package var time: String
    package var state: State
    /// Whether it is the end of a snooze.
    package var isSnoozed: Bool
    /// The text that the user has given it; nil for none.
    package var note: String?

    package init(
        taskID: String, title: String, time: String, state: State, isSnoozed: Bool = false, note: String? = nil
    ) {
        self.taskID = taskID
        self.title = title
        self.time = time
        self.state = state
        self.isSnoozed = isSnoozed
        self.note = note
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            taskID: try json.string("task"), title: try json.string("title"), time: try json.string("time"),
            state: json.choice("state", unknown: .unknown), isSnoozed: json.flag("snoozed"),
            note: json["note"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("task", taskID.asJSON), ("title", title.asJSON), ("time", time.asJSON), ("state", state.rawValue.asJSON),
            ("snoozed", isSnoozed.ifTrue), ("note", note?.asJSON))
    }
}

/// The reminders that are due or come next on a device, in order of time.
package struct ReminderListing: JSONCodable, Hashable {
    /// Whether this device shows reminders.
    package var isEnabled: Bool
    /// Whether there is a desktop that can show them now.
    package var hasDesktop: Bool
    package var reminders: [ReminderSummary]

    package init(isEnabled: Bool, hasDesktop: Bool, reminders: [ReminderSummary]) {
        self.isEnabled = isEnabled
        self.hasDesktop = hasDesktop
        self.reminders = reminders
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            isEnabled: json.flag("enabled"), hasDesktop: json.flag("desktop"), reminders: try json.list("reminders"))
    }

    package var json: JSON {
        .members(
            ("schemaVersion", 1), ("enabled", isEnabled.asJSON), ("desktop", hasDesktop.asJSON),
            ("reminders", reminders.json))
    }
}

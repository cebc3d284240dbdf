package import JSON

/// The fields of a new task, or the changes of fields of a task. Nil leaves a field unchanged, or
/// at its default in a new task.
package struct TaskChange: JSONCodable, Hashable {
    package var title: String?
    /// The name of a list; empty for the default list. A new name creates a list.
    package var list: String?
    package var isCompleted: Bool?
    package var priority: TaskSummary.Priority?
    /// A date or an RFC 3339 time; empty to remove it.
    package var due: String?
    /// The tags that replace all tags of the task.
    package var tags: [String]?
    package var addTags: [String]
    package var removeTags: [String]
    package var notes: String?
    /// The numbers of items of the checklist in the notes that are done now, and of those that are
    /// open again, counted from 1.
    package var ticks: [Int] = []
    package var unticks: [Int] = []
    /// The custom fields as YAML source. Empty source removes a field.
    package var fields: [String: String]
    /// The custom fields as text, which is quoted in the file if YAML requires it. Empty text
    /// removes a field.
    package var texts: [String: String] = [:]
    /// The recurrence: a number with a unit such as `3d`, weekdays such as `mon,thu`, a day of the
    /// month, or a rule of RFC 5545; empty to end it.
    package var every: String?
    /// Whether the next occurrence is computed from the day of the last completion.
    package var isFromCompletion = false
    /// Whether the current occurrence of a recurring task is skipped.
    package var isSkipped = false
    /// Whether the occurrence of a recurring task that is completed is kept as a task of its own.
    package var isArchived = false
    /// The reminders: offsets from the due date such as `-PT30M`, and dates or times such as
    /// `2026-11-30T17:00`. An empty array means none, and the single element `default` the default.
    package var reminders: [String]?
    /// The time until which the reminders are snoozed, in RFC 3339; empty to end the snooze.
    package var snooze: String?
    /// The current date on the device of the user, which counts as the day of a completion.
    package var today: String?
    /// The head of the file from which a new task comes: its front matter with the fences. The
    /// other members override it.
    package var head: String?
    /// The name without `.md` of the file from which a new task comes.
    package var fileName: String?
    /// The id of a new task in the program from which it is imported. If any device of the account
    /// has added a task with this key before, it is not added again and the error is
    /// `already-there`.
    package var importKey: String?
    /// Whether only to check if a new task could be added.
    package var isTrial = false

    package init(
        title: String? = nil, list: String? = nil, isCompleted: Bool? = nil, priority: TaskSummary.Priority? = nil,
        due: String? = nil, tags: [String]? = nil, addTags: [String] = [], removeTags: [String] = [],
        notes: String? = nil, fields: [String: String] = [:]
    ) {
        self.title = title
        self.list = list
        self.isCompleted = isCompleted
        self.priority = priority
        self.due = due
        self.tags = tags
        self.addTags = addTags
        self.removeTags = removeTags
        self.notes = notes
        self.fields = fields
    }

    package init(json: JSON) throws(ControlError) {
        let fields = try Self.strings(json["fields"])
        var priority: TaskSummary.Priority?
        if let text = json["priority"]?.stringValue {
            guard let known = TaskSummary.Priority(rawValue: text) else {
                throw ControlError(
                    .invalidArgument, "There is no priority '\(text)'.", hint: "One of high, medium, low, none.")
            }
            priority = known
        }
        self.init(
            title: json["title"]?.stringValue, list: json["list"]?.stringValue,
            isCompleted: json["completed"]?.booleanValue, priority: priority, due: json["due"]?.stringValue,
            tags: json["tags"]?.arrayValue?.compactMap(\.stringValue), addTags: json.strings("addTags"),
            removeTags: json.strings("removeTags"), notes: json["notes"]?.stringValue, fields: fields)
        texts = try Self.strings(json["texts"])
        ticks = json.integers("ticks")
        unticks = json.integers("unticks")
        every = json["every"]?.stringValue
        isFromCompletion = json.flag("fromCompletion")
        isSkipped = json.flag("skipped")
        isArchived = json.flag("archive")
        today = json["today"]?.stringValue
        if json["reminders"] != nil { reminders = json.strings("reminders") }
        snooze = json["snooze"]?.stringValue
        head = json["head"]?.stringValue
        fileName = json["fileName"]?.stringValue
        importKey = json["importKey"]?.stringValue
        isTrial = json.flag("trial")
    }

    private static func strings(_ json: JSON?) throws(ControlError) -> [String: String] {
        var strings: [String: String] = [:]
        for (key, value) in json?.objectValue ?? [:] {
            guard let text = value.stringValue else { throw .malformed("field '\(key)' must be a string") }
            strings[key] = text
        }
        return strings
    }

    private static func json(_ strings: [String: String]) -> JSON? {
        guard !strings.isEmpty else { return nil }
        var object = JSONObject()
        for (key, value) in strings.sorted(by: { $0.key < $1.key }) { object[key] = .string(value) }
        return .object(object)
    }

    package var json: JSON {
        .members(
            ("title", title?.asJSON), ("list", list?.asJSON), ("completed", isCompleted?.asJSON),
            ("priority", priority?.rawValue.asJSON), ("due", due?.asJSON), ("tags", tags?.asJSON),
            ("addTags", addTags.ifAny), ("removeTags", removeTags.ifAny), ("notes", notes?.asJSON),
            ("fields", Self.json(fields)), ("texts", Self.json(texts)), ("every", every?.asJSON),
            ("fromCompletion", isFromCompletion.ifTrue), ("skipped", isSkipped.ifTrue),
            ("archive", isArchived.ifTrue), ("today", today?.asJSON),
            ("reminders", reminders?.asJSON), ("snooze", snooze?.asJSON),
            ("ticks", ticks.ifAny), ("unticks", unticks.ifAny),
            ("head", head?.asJSON), ("fileName", fileName?.asJSON), ("importKey", importKey?.asJSON),
            ("trial", isTrial.ifTrue))
    }
}

/// A filter of tasks. Members that are nil or empty do not restrict it.
package struct TaskFilter: JSONCodable, Hashable {
    /// The words that the title, a tag or the name of the list must contain, ignoring case; all of
    /// them must occur.
    package var words: [String]
    /// The texts that the title or the notes must contain, ignoring case; all of them must occur.
    package var texts: [String] = []
    /// The name of a list, ignoring case; empty for the default list.
    package var list: String?
    package var tags: [String]
    /// Whether the tasks are completed; nil for both. The default of `ferry list` is false.
    package var isCompleted: Bool?
    /// The priorities of the tasks; all if it is empty.
    package var priorities: [TaskSummary.Priority] = []
    /// The order: `due` (the default), `priority` or `title`.
    package var sort: String?
    /// The due date: `today` (or before), `week`, `overdue`, `none`, `through:` and a date for all up
    /// to it, or a date.
    package var due: String?
    /// The current date on the device of the user, `2026-11-30`, to which the words in `due` refer.
    package var today: String?

    package init(
        words: [String] = [], list: String? = nil, tags: [String] = [], isCompleted: Bool? = nil, due: String? = nil,
        today: String? = nil
    ) {
        self.words = words
        self.list = list
        self.tags = tags
        self.isCompleted = isCompleted
        self.due = due
        self.today = today
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            words: json.strings("words"), list: json["list"]?.stringValue, tags: json.strings("tags"),
            isCompleted: json["completed"]?.booleanValue, due: json["due"]?.stringValue,
            today: json["today"]?.stringValue)
        texts = json.strings("texts")
        priorities = json.strings("priorities").compactMap(TaskSummary.Priority.init)
        sort = json["sort"]?.stringValue
    }

    package var json: JSON {
        .members(
            ("words", words.ifAny), ("texts", texts.ifAny), ("list", list?.asJSON), ("tags", tags.ifAny),
            ("completed", isCompleted?.asJSON),
            ("due", due?.asJSON), ("today", today?.asJSON), ("priorities", priorities.map(\.rawValue).ifAny),
            ("sort", sort?.asJSON))
    }
}

/// A list of tasks.
package struct ListSummary: JSONCodable, Hashable {
    /// The id; empty for the default list.
    package var id: String
    package var name: String
    package var openCount: Int
    package var taskCount: Int
    /// The name of the account that owns the list; nil if it is this account.
    package var owner: String?
    /// The names of the other accounts that use the list, without the owner.
    package var sharedWith: [String]
    /// The names of the invited accounts that have not answered.
    package var invited: [String]

    package init(
        id: String, name: String, openCount: Int, taskCount: Int, owner: String? = nil, sharedWith: [String] = [],
        invited: [String] = []
    ) {
        self.owner = owner
        self.sharedWith = sharedWith
        self.invited = invited
        self.id = id
        self.name = name
        self.openCount = openCount
        self.taskCount = taskCount
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), name: try json.string("name"), openCount: Int(try json.integer("open")),
            taskCount: Int(try json.integer("tasks")), owner: json["owner"]?.stringValue,
            sharedWith: (json["sharedWith"]?.arrayValue ?? []).compactMap(\.stringValue),
            invited: (json["invited"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("name", name.asJSON), ("open", openCount.asJSON), ("tasks", taskCount.asJSON),
            ("owner", owner?.asJSON), ("sharedWith", sharedWith.isEmpty ? nil : sharedWith.asJSON),
            ("invited", invited.isEmpty ? nil : invited.asJSON))
    }
}

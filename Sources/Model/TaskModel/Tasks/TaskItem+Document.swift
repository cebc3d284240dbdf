public import DocumentModel

extension TaskItem {
    /// Creates the task that a document's fields represent. Fields that are missing or of another
    /// type count as absent.
    public init(fields document: [String: Value]) {
        self.init(withoutAttachments: document)
        for (id, value) in Self.attachments(in: document) { attachments[AttachmentID(id)] = TaskAttachment(value) }
    }

    /// Returns the values of `attachments` in a document by id, unparsed, because usually only a
    /// few of many are needed.
    package static func attachments(in document: [String: Value]) -> [String: Value] {
        document["attachments"]?.mapValue ?? [:]
    }

    /// Creates a task as `init(fields:)` does, but without attachments.
    package init(withoutAttachments document: [String: Value]) {
        let custom = document["fields"]?.mapValue ?? [:]
        self.init(
            title: Self.title(document["title"]), priority: Self.priority(document["priority"]),
            completed: document["completed"]?.booleanValue ?? false, due: Self.due(document, custom),
            tags: Self.tags(document["tags"]), notes: (document["notes"]?.stringValue ?? "").asNotes, fields: custom,
            instances: Self.instances(document["instances"]),
            listId: document["listId"]?.stringValue.map { ListID($0) },
            userId: document["userId"]?.stringValue.map { UserID($0) },
            createdTime: document["createdTime"]?.time, updatedTime: document["updatedTime"]?.time,
            completedTime: document["completedTime"]?.time, deletedTime: document["deletedTime"]?.time)
        snoozes = (document["snoozes"]?.mapValue ?? [:]).compactMapValues { ReminderSnooze($0) }
        for key in TaskKey.allCases {
            // A custom field with the name of a known key and a value that a file would read as the
            // typed value is outdated text, and cannot be represented as a custom field.
            if let value = self.fields[key.rawValue], FrontMatterContent.understands(value, of: key) {
                self.fields[key.rawValue] = nil
            }
        }
    }

    /// Creates the task that a document represents, as `init(fields:)` does.
    public init(_ document: Document) {
        self.init(fields: document.fields)
    }

    /// The task as a document's fields. Absent properties are omitted, except `title` and
    /// `completed`, which other apps expect.
    public var documentFields: [String: Value] {
        var document: [String: Value] = ["title": .string(title), "completed": .boolean(completed)]
        document["priority"] = priority.map { .integer($0.rawValue) }
        document["due"] = due.map { .timestamp($0.timestamp) }
        document["dueHasTime"] = due.map { .boolean($0.hasTime) }
        if !tags.isEmpty { document["tags"] = .array(tags.map { .string($0) }) }
        if !notes.isEmpty { document["notes"] = .string(notes) }
        let custom = customFields
        if !custom.isEmpty { document["fields"] = .map(custom) }
        if !instances.isEmpty { document["instances"] = .map(instanceValues) }
        if !snoozes.isEmpty { document["snoozes"] = .map(snoozeValues) }
        if !attachments.isEmpty { document["attachments"] = .map(attachmentValues) }
        document["listId"] = listId.map { .string($0.rawValue) }
        document["userId"] = userId.map { .string($0.rawValue) }
        document["createdTime"] = createdTime.map { .timestamp($0) }
        document["updatedTime"] = updatedTime.map { .timestamp($0) }
        document["completedTime"] = completedTime.map { .timestamp($0) }
        document["deletedTime"] = deletedTime.map { .timestamp($0) }
        return document
    }

    /// The custom fields, with the text of `due` if the typed fields cannot reproduce it.
    var customFields: [String: Value] {
        guard let due, !due.isCanonical else { return fields }
        var custom = fields
        custom[TaskKey.due.rawValue] = .string(due.text)
        return custom
    }

    /// The attachments as elements of a document's `attachments`.
    var attachmentValues: [String: Value] {
        Dictionary(attachments.map { ($0.key.rawValue, $0.value.value) }) { first, _ in first }
    }

    /// The occurrences as elements of a document's `instances`.
    var instanceValues: [String: Value] {
        Dictionary(uniqueKeysWithValues: instances.map { ($0.key.description, $0.value.value) })
    }

    private static func instances(_ value: Value?) -> [CivilDate: TaskInstance] {
        var instances: [CivilDate: TaskInstance] = [:]
        for (key, value) in value?.mapValue ?? [:] {
            if let day = CivilDate(key), let instance = TaskInstance(value) { instances[day] = instance }
        }
        return instances
    }

    private static func title(_ value: Value?) -> String {
        switch value {
        case .string(let text)?: text
        case .integer(let number)?: String(number)
        case .double(let number)?: String(number)
        default: ""
        }
    }

    private static func priority(_ value: Value?) -> Priority? {
        if let number = value?.wholeNumber { return Priority(rawValue: number) }
        return value?.stringValue.flatMap { Priority(word: $0) }
    }

    private static func due(_ document: [String: Value], _ custom: [String: Value]) -> Due? {
        if let text = document["due"]?.stringValue, let due = Due(parsing: text) { return due }
        guard let timestamp = document["due"]?.time else { return nil }
        let isMidnight = timestamp.microseconds % 86_400_000_000 == 0
        let stored = Due(timestamp: timestamp, hasTime: document["dueHasTime"]?.booleanValue ?? !isMidnight)
        guard let text = custom[TaskKey.due.rawValue]?.stringValue, let written = Due(parsing: text),
            written.timestamp == stored.timestamp, written.hasTime == stored.hasTime
        else { return stored }
        return written
    }

    private static func tags(_ value: Value?) -> [String] {
        switch value {
        case .array(let values)?: values.compactMap(\.stringValue).withoutRepeats
        case .string(let text)?: [text]
        default: []
        }
    }
}

public import DocumentModel

/// One task, with the content that its file and its document can represent.
///
/// Every property has a value that means "absent", which neither a file nor a document needs to
/// mention. Equality compares texts byte by byte: two Unicode normalization forms of one title are
/// two titles.
public struct TaskItem: Sendable, Hashable {
    /// The title: any text of any length. `TaskFileName` derives a file's name from it.
    public var title: String
    /// The importance; nil for none.
    public var priority: Priority?
    /// Whether the task is done.
    public var completed: Bool
    /// The due date or time.
    public var due: Due?
    /// The tags in order of first occurrence, without duplicates.
    public var tags: [String]
    /// The Markdown text after the front matter, byte for byte. Line endings are preserved: `\n`,
    /// `\r\n` and a lone `\r` can be mixed.
    public var notes: String
    /// Custom fields by key, including known keys whose value cannot be interpreted (`priority:
    /// urgent`).
    ///
    /// A value of a file that Ferry would write differently (other quotes, `[a, b]`, comments
    /// inside) is kept as source text, in a map with the single key `$yaml`.
    public var fields: [String: Value]
    /// The occurrences of a recurring task that were completed or skipped, by the day on which each
    /// was due.
    public var instances: [CivilDate: TaskInstance]
    /// The users who have snoozed the task's reminders, by user id. Not part of a file.
    public var snoozes: [String: ReminderSnooze] = [:]
    /// The attachments by id.
    public var attachments: [AttachmentID: TaskAttachment]
    /// The id of the list; nil for the default list.
    public var listId: ListID?
    /// The id of the owner.
    public var userId: UserID?
    /// The time at which the server created the task.
    public var createdTime: Timestamp?
    /// The time of the last change.
    public var updatedTime: Timestamp?
    /// The time at which the task was completed.
    public var completedTime: Timestamp?
    /// The time at which the task was moved to the trash; nil if it is not there.
    public var deletedTime: Timestamp?

    /// Creates a task.
    public init(
        title: String, priority: Priority? = nil, completed: Bool = false, due: Due? = nil, tags: [String] = [],
        notes: String = "", fields: [String: Value] = [:], instances: [CivilDate: TaskInstance] = [:],
        attachments: [AttachmentID: TaskAttachment] = [:],
        listId: ListID? = nil, userId: UserID? = nil, createdTime: Timestamp? = nil, updatedTime: Timestamp? = nil,
        completedTime: Timestamp? = nil, deletedTime: Timestamp? = nil
    ) {
        self.title = title
        self.priority = priority
        self.completed = completed
        self.due = due
        self.tags = tags
        self.notes = notes
        self.fields = fields
        self.instances = instances
        self.attachments = attachments
        self.listId = listId
        self.userId = userId
        self.createdTime = createdTime
        self.updatedTime = updatedTime
        self.completedTime = completedTime
        self.deletedTime = deletedTime
    }

    /// Returns the attachment with an id, or else the oldest attachment with exactly this name; nil
    /// if there is none.
    ///
    /// If several have the same name and no creation time, the one with the lowest id is returned,
    /// so that all commands on all devices choose the same one.
    public func attachment(called word: String) -> (id: AttachmentID, attachment: TaskAttachment)? {
        let id = AttachmentID(word)
        if let attachment = attachments[id] { return (id, attachment) }
        let named = attachments.filter { $0.value.name.isIdentical(to: word) }
        return named.min { left, right in
            guard left.value.createdTime == right.value.createdTime else {
                guard let time = left.value.createdTime else { return false }
                return right.value.createdTime.map { time < $0 } ?? true
            }
            return left.key < right.key
        }.map { ($0.key, $0.value) }
    }

    /// Returns whether two tasks are equal. Texts are compared byte by byte.
    public static func == (left: TaskItem, right: TaskItem) -> Bool {
        left.priority == right.priority && left.completed == right.completed && left.due == right.due
            && left.title.isIdentical(to: right.title) && left.notes.isIdentical(to: right.notes)
            && left.tags.elementsEqual(right.tags) { $0.isIdentical(to: $1) }
            && left.fields == right.fields && left.instances == right.instances && left.attachments == right.attachments
            && left.listId == right.listId && left.snoozes == right.snoozes
            && left.userId == right.userId && left.createdTime == right.createdTime
            && left.updatedTime == right.updatedTime && left.completedTime == right.completedTime
            && left.deletedTime == right.deletedTime
    }

    /// Whether the task is in the trash.
    public var isDeleted: Bool { deletedTime != nil }

    /// The known keys that are in `fields` because their values could not be interpreted. Shown by
    /// `show` and `doctor`.
    public var misunderstoodKeys: [String] {
        TaskKey.allCases.map(\.rawValue).filter { fields[$0] != nil }
    }

    /// The custom fields whose names differ from those of known keys only in case, such as `Tags`,
    /// with the known key.
    package var nearKeys: [(key: String, known: String)] {
        fields.keys.sorted().compactMap { key in
            TaskKey(rawValue: key) == nil ? TaskKey(rawValue: key.lowercased()).map { (key, $0.rawValue) } : nil
        }
    }
}

extension [String] {
    /// The elements without duplicates, in order of first occurrence.
    var withoutRepeats: [String] {
        var seen = Set<[UInt8]>()
        return filter { seen.insert(Array<UInt8>($0.utf8)).inserted }
    }
}

extension String {
    /// The text with each NUL, which text files should not contain, replaced by U+FFFD.
    var asNotes: String {
        utf8.contains(0) ? String(decoding: utf8.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] }, as: UTF8.self) : self
    }

    /// The text with `\n` for each `\r\n`, as YAML reads it.
    var withLineFeeds: String {
        guard utf8.contains(0x0D) else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for byte in utf8 {
            if byte == UInt8(ascii: "\n") {
                while bytes.last == 0x0D { bytes.removeLast() }
            }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

public import DocumentModel

/// One task, as its file and its document both can say it.
///
/// Every property has a value that stands for "not said"; neither a file nor a document need mention it then.
/// Equality compares texts byte by byte: two Unicode forms of one title are two titles.
public struct TaskItem: Sendable, Hashable {
    /// Of any content and length; `TaskFileName` makes a file's name of it.
    public var title: String
    public var priority: Priority?
    public var completed: Bool
    public var due: Due?
    /// A set in order of first mention; no element twice.
    public var tags: [String]
    /// The Markdown body, byte for byte as it stands after the front matter. Line endings are bytes like others: `\n`, `\r\n` and
    /// a lone `\r` stay as they are, also side by side.
    public var notes: String
    /// Custom fields by key. A known key whose value Ferry does not understand is here, too (`priority: urgent`).
    ///
    /// A value of a file that Ferry would write differently than it was found (other quotes, `[a, b]`, comments inside) is kept
    /// as source text: a map with the single key `$yaml`.
    public var fields: [String: Value]
    /// By id.
    public var attachments: [String: TaskAttachment]
    /// nil: the default list.
    public var listId: String?
    public var userId: String?
    public var createdTime: Timestamp?
    public var updatedTime: Timestamp?
    public var completedTime: Timestamp?
    /// Set while the task is in the trash.
    public var deletedTime: Timestamp?

    public init(
        title: String, priority: Priority? = nil, completed: Bool = false, due: Due? = nil, tags: [String] = [],
        notes: String = "", fields: [String: Value] = [:], attachments: [String: TaskAttachment] = [:],
        listId: String? = nil, userId: String? = nil, createdTime: Timestamp? = nil, updatedTime: Timestamp? = nil,
        completedTime: Timestamp? = nil, deletedTime: Timestamp? = nil
    ) {
        self.title = title
        self.priority = priority
        self.completed = completed
        self.due = due
        self.tags = tags
        self.notes = notes
        self.fields = fields
        self.attachments = attachments
        self.listId = listId
        self.userId = userId
        self.createdTime = createdTime
        self.updatedTime = updatedTime
        self.completedTime = completedTime
        self.deletedTime = deletedTime
    }

    /// The attachment with this id, or else the oldest with exactly this name; `nil` if there is none.
    ///
    /// Of several with one name and no creation time the one with the lowest id is returned, so that all commands on all
    /// machines mean the same one.
    public func attachment(called word: String) -> (id: String, attachment: TaskAttachment)? {
        if let attachment = attachments[word] { return (word, attachment) }
        let named = attachments.filter { $0.value.name.isIdentical(to: word) }
        return named.min { left, right in
            guard left.value.createdTime == right.value.createdTime else {
                guard let time = left.value.createdTime else { return false }
                return right.value.createdTime.map { time < $0 } ?? true
            }
            return left.key < right.key
        }.map { ($0.key, $0.value) }
    }

    public static func == (left: TaskItem, right: TaskItem) -> Bool {
        left.priority == right.priority && left.completed == right.completed && left.due == right.due
            && left.title.isIdentical(to: right.title) && left.notes.isIdentical(to: right.notes)
            && left.tags.elementsEqual(right.tags) { $0.isIdentical(to: $1) }
            && left.fields == right.fields && left.attachments == right.attachments && left.listId == right.listId
            && left.userId == right.userId && left.createdTime == right.createdTime
            && left.updatedTime == right.updatedTime && left.completedTime == right.completedTime
            && left.deletedTime == right.deletedTime
    }

    /// Whether the task is in the trash.
    public var isDeleted: Bool { deletedTime != nil }

    /// The known keys of task files that stand in `fields` because their values are not understood; for `show` and `doctor`.
    public var misunderstoodKeys: [String] {
        TaskKey.allCases.map(\.rawValue).filter { fields[$0] != nil }
    }

    /// The custom fields whose names are those of known keys but for the case of letters, such as `Tags`, with the known key.
    package var nearKeys: [(key: String, known: String)] {
        fields.keys.sorted().compactMap { key in
            TaskKey(rawValue: key) == nil ? TaskKey(rawValue: key.lowercased()).map { (key, $0.rawValue) } : nil
        }
    }
}

extension [String] {
    /// Each element once, at its first place.
    var withoutRepeats: [String] {
        var seen = Set<[UInt8]>()
        return filter { seen.insert(Array<UInt8>($0.utf8)).inserted }
    }
}

extension String {
    /// The text with U+FFFD for each NUL, which no text file should hold: what `notes` holds.
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

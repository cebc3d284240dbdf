package import JSON

/// A task as `ferry show` displays it.
package struct TaskDetail: JSONCodable, Hashable {
    package var summary: TaskSummary
    package var notes: String
    /// The source text of the custom front matter, by key.
    package var fields: [String: String]
    package var attachments: [AttachmentSummary]
    /// The items of the checklists in the notes, in order.
    package var checklist: [ChecklistItem] = []
    /// The time of creation in RFC 3339; nil until the remote has ordered the write, as are the
    /// next two.
    package var createdTime: String?
    package var updatedTime: String?
    package var completedTime: String?
    /// Sentences for the user about values that were kept but not understood, or about what keeps
    /// the task out of sync.
    package var remarks: [String]
    /// Whether its attachments are kept on this device whatever the download policy is.
    package var isPinned = false
    /// The bytes of the file before its notes: a byte-order mark, and the front matter with its
    /// fences.
    package var head = ""

    package init(
        summary: TaskSummary, notes: String = "", fields: [String: String] = [:], attachments: [AttachmentSummary] = [],
        createdTime: String? = nil, updatedTime: String? = nil, completedTime: String? = nil, remarks: [String] = []
    ) {
        self.summary = summary
        self.notes = notes
        self.fields = fields
        self.attachments = attachments
        self.createdTime = createdTime
        self.updatedTime = updatedTime
        self.completedTime = completedTime
        self.remarks = remarks
    }

    package init(json: JSON) throws(ControlError) {
        var fields: [String: String] = [:]
        for (key, value) in json["fields"]?.objectValue ?? [:] { fields[key] = value.stringValue ?? value.text }
        self.init(
            summary: try TaskSummary(json: json["task"] ?? .null), notes: json["notes"]?.stringValue ?? "",
            fields: fields,
            attachments: try json.list("attachments"), createdTime: json["createdTime"]?.stringValue,
            updatedTime: json["updatedTime"]?.stringValue, completedTime: json["completedTime"]?.stringValue,
            remarks: json.strings("remarks"))
        checklist = try json.list("checklist")
        isPinned = json.flag("pinned")
        head = json["head"]?.stringValue ?? ""
    }

    package var json: JSON {
        var custom = JSONObject()
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) { custom[key] = .string(value) }
        return .members(
            ("schemaVersion", 1), ("task", summary.json), ("notes", notes.asJSON), ("fields", .object(custom)),
            ("attachments", attachments.json), ("checklist", checklist.isEmpty ? nil : checklist.json),
            ("createdTime", createdTime?.asJSON),
            ("updatedTime", updatedTime?.asJSON),
            ("completedTime", completedTime?.asJSON), ("remarks", remarks.ifAny),
            ("pinned", isPinned.ifTrue), ("head", head.isEmpty ? nil : head.asJSON))
    }
}

/// One item of a checklist in the notes of a task.
package struct ChecklistItem: JSONCodable, Hashable {
    package var text: String
    package var isDone: Bool

    package init(text: String, isDone: Bool) {
        self.text = text
        self.isDone = isDone
    }

    package init(json: JSON) throws(ControlError) {
        self.init(text: try json.string("text"), isDone: json.flag("done"))
    }

    package var json: JSON { .members(("text", text.asJSON), ("done", isDone.ifTrue)) }
}

/// One attachment of a task.
package struct AttachmentSummary: JSONCodable, Hashable {
    /// The place of the content of an attachment.
    package enum State: String, Sendable {
        /// The complete file is on this device.
        case here
        case uploading
        case downloading
        /// The transfer is queued, or waits for the upload by another device.
        case waiting
        /// The content is only on the remote, because of the download policy.
        case remote
        case missing
        case damaged
        case unknown
    }

    package var id: String
    package var name: String
    package var mimeType: String
    /// The size in bytes.
    package var size: Int64
    /// The hash in hexadecimal digits; empty until it is known.
    package var sha256: String
    package var state: State
    /// The path of the file relative to the tasks directory; nil while the file is not on this
    /// device.
    package var path: String?

    package init(
        id: String, name: String, mimeType: String, size: Int64, sha256: String, state: State, path: String? = nil
    ) {
        self.id = id
        self.name = name
        self.mimeType = mimeType
        self.size = size
        self.sha256 = sha256
        self.state = state
        self.path = path
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), name: try json.string("name"), mimeType: try json.string("mimeType"),
            size: try json.integer("size"), sha256: json["sha256"]?.stringValue ?? "",
            state: json.choice("state", unknown: .unknown), path: json["path"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("name", name.asJSON), ("mimeType", mimeType.asJSON), ("size", size.asJSON),
            ("sha256", sha256.asJSON), ("state", state.rawValue.asJSON), ("path", path?.asJSON))
    }
}

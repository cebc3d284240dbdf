public import DocumentModel

/// What a task's document says of one attached file.
public struct TaskAttachment: Sendable, Hashable {
    /// The file's name in `X.files/`; comes from elsewhere and may be anything, so check it before it becomes part of a path.
    public var name: String
    public var mimeType: String?
    /// In bytes, from 0 to `sizeLimit`. A document that says anything else says nothing.
    public var size: Int64?
    /// Of the whole file, in lower-case hexadecimal digits.
    public var sha256: String?
    /// The object key of the manifest that lists the chunks, or of the chunk where there is only one.
    public var manifest: String?
    public var createdTime: Timestamp?
    /// When this version's content was last changed, by the clock of the machine that has uploaded it; nothing is decided by it.
    public var modifiedTime: Timestamp?
    public var isExecutable = false
    /// Whether a machine found the stored bytes missing or damaged. One that has the file puts them there anew, and takes this
    /// away.
    public var isDamaged = false

    /// No attachment has more bytes.
    public static let sizeLimit: Int64 = 640 << 30

    public init(
        name: String, mimeType: String? = nil, size: Int64? = nil, sha256: String? = nil, manifest: String? = nil,
        createdTime: Timestamp? = nil, modifiedTime: Timestamp? = nil, isExecutable: Bool = false
    ) {
        self.name = name
        self.mimeType = mimeType
        self.size = size
        self.sha256 = sha256
        self.manifest = manifest
        self.createdTime = createdTime
        self.modifiedTime = modifiedTime
        self.isExecutable = isExecutable
    }

    /// Reads what is there; nil only if `value` is no map. A missing name is empty.
    public init?(_ value: Value) {
        guard let map = value.mapValue else { return nil }
        name = map["name"]?.stringValue ?? ""
        mimeType = map["mimeType"]?.stringValue
        size = map["size"]?.wholeNumber.flatMap { (0...Self.sizeLimit).contains($0) ? $0 : nil }
        sha256 = map["sha256"]?.stringValue
        manifest = map["manifest"]?.stringValue
        createdTime = map["createdTime"]?.time
        modifiedTime = map["modifiedTime"]?.time
        isExecutable = map["executable"] == .boolean(true)
        isDamaged = map["damaged"] == .boolean(true)
    }

    /// Compares as documents do, names byte by byte.
    public static func == (left: TaskAttachment, right: TaskAttachment) -> Bool { left.value == right.value }

    public func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// As an element of a document's `attachments`.
    public var value: Value {
        var map: [String: Value] = ["name": .string(name)]
        map["mimeType"] = mimeType.map { .string($0) }
        map["size"] = size.map { .integer($0) }
        map["sha256"] = sha256.map { .string($0) }
        map["manifest"] = manifest.map { .string($0) }
        map["createdTime"] = createdTime.map { .timestamp($0) }
        map["modifiedTime"] = modifiedTime.map { .timestamp($0) }
        if isExecutable { map["executable"] = .boolean(true) }
        if isDamaged { map["damaged"] = .boolean(true) }
        return .map(map)
    }
}

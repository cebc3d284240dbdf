public import DocumentModel

/// The description of one attached file in a task's document.
public struct TaskAttachment: Sendable, Hashable {
    /// The file's name in `X.files/`. It comes from other devices and may be any text, so it must
    /// be checked before it becomes part of a path.
    public var name: String
    /// The media type, if known.
    public var mimeType: String?
    /// The size in bytes, from 0 to `sizeLimit`; nil if the document contains no valid size.
    public var size: Int64?
    /// The SHA-256 of the whole file in lowercase hexadecimal digits.
    public var sha256: String?
    /// The object key of the manifest that lists the chunks, or of the chunk itself if there is
    /// only one.
    public var manifest: String?
    /// The time at which the attachment was added.
    public var createdTime: Timestamp?
    /// The time of the last change of this version's content, according to the device that uploaded
    /// it. For display only; no decision depends on it.
    public var modifiedTime: Timestamp?
    /// Whether the file is executable.
    public var isExecutable = false
    /// Whether a device found the stored bytes missing or damaged. A device that has the file
    /// uploads it again and clears this.
    public var isDamaged = false

    /// The maximum size of an attachment in bytes.
    public static let sizeLimit: Int64 = 640 << 30

    /// Creates the description of an attachment that is not damaged.
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

    /// Creates a description from an element of a document's `attachments`; nil if `value` is not a
    /// map. A missing name becomes empty.
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

    /// Returns whether two descriptions are the same stored content. Names are compared byte by
    /// byte.
    public static func == (left: TaskAttachment, right: TaskAttachment) -> Bool { left.value == right.value }

    /// Hashes consistently with `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// The description as an element of a document's `attachments`.
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

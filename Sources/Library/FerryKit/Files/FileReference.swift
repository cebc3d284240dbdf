package import DocumentCoding
package import DocumentModel
import ObjectStorage

/// A file that belongs to a document: its name, its size and where its content is.
///
/// It is the value of a field of the document, or of an entry of a dictionary, in the form in which
/// `ferryd` keeps the attachments of tasks, so both see each other's files. `Reference.attachment`
/// and `Reference.attachments` add files; `Ferry.files` reads their content.
public struct FileReference: Hashable, Sendable {
    /// The entry of the document, with those of its fields that are not known here.
    let fields: [String: Value]

    init(fields: [String: Value]) { self.fields = fields }

    /// The name. It may come from another user and be any text: do not use it as a part of a path
    /// without a check.
    public var name: String { fields[Key.name]?.stringValue ?? "" }

    /// The media type, such as `image/jpeg`.
    public var type: String { fields[Key.type]?.stringValue ?? MIMEType.octetStream.description }

    /// The size in bytes; 0 if the document has no valid one.
    public var size: Int64 { declaredSize ?? 0 }

    /// The size; nil if the document has no valid one.
    var declaredSize: Int64? {
        switch fields[Key.size] {
        case .integer(let size)? where size >= 0: size
        // Databases on the web know only doubles.
        case .double(let size)? where size >= 0: Int64(exactly: size)
        default: nil
        }
    }

    /// The SHA-256 of the content in hexadecimal digits; empty while the file is uploaded.
    public var sha256: String { fields[Key.sha256]?.stringValue ?? "" }

    /// Whether the machine that added the file has not uploaded its content yet.
    public var isUploading: Bool { object == nil }

    /// The key of the object that describes the content; nil while it is uploaded.
    var object: ObjectKey? { fields[Key.manifest]?.stringValue.flatMap { try? ObjectKey($0) } }
}

extension FileReference {
    /// The keys of an entry; see `TaskAttachment` of the tasks' model.
    enum Key {
        static let name = "name"
        static let type = "mimeType"
        static let size = "size"
        static let sha256 = "sha256"
        static let manifest = "manifest"
        static let createdTime = "createdTime"
        static let executable = "executable"
    }

    /// Creates the entry of a file whose content is not on the server yet.
    init(uploading file: File, at time: Timestamp) {
        var fields: [String: Value] = [
            Key.name: .string(file.name), Key.type: .string(file.type.description), Key.createdTime: .timestamp(time),
        ]
        fields[Key.size] = file.size.map { .integer($0) }
        if file.isExecutable { fields[Key.executable] = .boolean(true) }
        self.fields = fields
    }

    /// Returns the entry with content that is on the server.
    func having(_ file: UploadedFile, in namespace: ObjectNamespace) -> FileReference {
        var fields = fields
        fields[Key.size] = .integer(file.size)
        fields[Key.sha256] = .string(file.sha256.hex)
        fields[Key.manifest] = .string(file.content.key(in: namespace).text)
        return FileReference(fields: fields)
    }
}

extension FileReference: Codable {
    private enum CodingKeys: String, CodingKey { case name, mimeType, size, sha256, manifest }

    /// Decodes the fields that are known here.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var fields: [String: Value] = [Key.name: .string(try container.decode(String.self, forKey: .name))]
        fields[Key.type] = try container.decodeIfPresent(String.self, forKey: .mimeType).map { .string($0) }
        fields[Key.size] = try container.decodeIfPresent(Int64.self, forKey: .size).map { .integer($0) }
        fields[Key.sha256] = try container.decodeIfPresent(String.self, forKey: .sha256).map { .string($0) }
        fields[Key.manifest] = try container.decodeIfPresent(String.self, forKey: .manifest).map { .string($0) }
        self.fields = fields
    }

    /// Encodes the fields that are known here.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(type, forKey: .mimeType)
        try container.encode(size, forKey: .size)
        try container.encodeIfPresent(fields[Key.sha256]?.stringValue, forKey: .sha256)
        try container.encodeIfPresent(object?.text, forKey: .manifest)
    }
}

extension FileReference: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> FileReference {
        guard let fields = value.mapValue else { throw ValueMismatch(expected: "a file", found: value) }
        return FileReference(fields: fields)
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue { .value(.map(fields)) }

    package static var examples: (FileReference, FileReference) {
        (FileReference(fields: [Key.name: "a"]), FileReference(fields: [Key.name: "b"]))
    }
}

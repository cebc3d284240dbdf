import SystemIO

/// A file to upload: content with a name, a type and metadata.
public struct File: Sendable {
    /// The source of the bytes of a file.
    public enum Content: Sendable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// The file at this path. It must not change while it is uploaded; a change ends the upload
        /// with `.sourceChanged`.
        case path(String)
        /// Bytes of unknown length, which are read once. They are written to a temporary file
        /// first, so that the upload can be paused and resumed.
        case stream(any AsyncSequence<[UInt8], any Error> & Sendable)
    }

    /// The name of the file, without directories.
    public var name: String
    /// The type of the content.
    public var type: MIMEType
    /// The size in bytes; nil if only the end of a stream will tell.
    public var size: Int64?
    /// The expected SHA-256 of the content; nil if it is not known. An upload of other content
    /// fails.
    public var sha256: ContentHash?
    /// Metadata of the application. The content hash does not cover it.
    public var metadata: [String: String] = [:]
    /// The source of the bytes.
    public var content: Content
    /// Whether the file is executable by its owner. The content hash does not cover it.
    public var isExecutable = false

    /// Creates a file from bytes in memory.
    ///
    /// - Parameter type: The type; nil to derive it from the name or else from the first bytes.
    public init(name: String, bytes: [UInt8], type: MIMEType? = nil) {
        self.name = name
        self.type = type ?? MIMEType(fileName: name) ?? MIMEType(leadingBytes: bytes.prefix(MIMEType.sniffLength))
        size = Int64(bytes.count)
        content = .bytes(bytes)
    }

    /// Creates a file from a regular file on disk. Throws if it cannot be read.
    ///
    /// - Parameters:
    ///   - name: The name; nil for the last component of the path.
    ///   - type: The type; nil to derive it from the name or else from the first bytes.
    public init(path: String, name: String? = nil, type: MIMEType? = nil) throws(ObjectStorageError) {
        self.name = name ?? FileSystem.split(path).name
        do throws(SystemError) {
            let file = try FileDescriptor(path: path, [.read, .nonBlocking])
            let status = try file.status()
            guard status.kind == .file else {
                throw SystemError(
                    .unsupported, operation: "attach", path: path, remedy: "Only regular files can be attached")
            }
            size = status.size
            isExecutable = status.isExecutable
            if let type = type ?? MIMEType(fileName: self.name) {
                self.type = type
            } else {
                self.type = MIMEType(leadingBytes: try file.read(MIMEType.sniffLength, at: 0))
            }
        } catch {
            throw ObjectStorageError(error)
        }
        content = .path(path)
    }

    /// Creates a file from a stream of bytes.
    ///
    /// - Parameters:
    ///   - type: The type; nil to derive it from the name.
    ///   - size: The number of bytes; nil if it is not known.
    public init(
        name: String, stream: any AsyncSequence<[UInt8], any Error> & Sendable, type: MIMEType? = nil,
        size: Int64? = nil
    ) {
        self.name = name
        self.type = type ?? MIMEType(fileName: name) ?? .octetStream
        self.size = size
        content = .stream(stream)
    }
}

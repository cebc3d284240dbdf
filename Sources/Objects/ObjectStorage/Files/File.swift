import SystemIO

/// Something to store: content with a name, a type and whatever else its owner wants to remember.
public struct File: Sendable {
    public enum Content: Sendable {
        case bytes([UInt8])
        /// The file at this path. It must rest while it is uploaded; a change is found and ends the upload.
        case path(String)
        /// Bytes of unknown length, read once. They are written to a temporary file first, so that the upload can be
        /// paused and taken up again.
        case stream(any AsyncSequence<[UInt8], any Error> & Sendable)
    }

    public var name: String
    public var type: MIMEType
    /// Nil where only the end of a stream will tell.
    public var size: Int64?
    /// What the content must hash to; nil where that is not known. An upload of other content fails.
    public var sha256: ContentHash?
    /// Anything; it is not part of what is stored under the content's hash.
    public var metadata: [String: String] = [:]
    public var content: Content
    /// Whether its owner may run it; like the metadata, it is no part of the content.
    public var isExecutable = false

    /// - Parameter type: nil to judge by the name and, where that says nothing, by the first bytes.
    public init(name: String, bytes: [UInt8], type: MIMEType? = nil) {
        self.name = name
        self.type = type ?? MIMEType(fileName: name) ?? MIMEType(leadingBytes: bytes.prefix(MIMEType.sniffLength))
        size = Int64(bytes.count)
        content = .bytes(bytes)
    }

    /// A regular file. Throws where it cannot be read.
    ///
    /// - Parameters:
    ///   - name: nil to take the last part of the path.
    ///   - type: nil to judge by the name and, where that says nothing, by the first bytes.
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

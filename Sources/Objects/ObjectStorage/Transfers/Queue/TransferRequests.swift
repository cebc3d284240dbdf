/// A file to upload with a `Transfers` queue.
public struct UploadRequest: Sendable {
    /// The file.
    public var file: File
    /// A label by which the application recognizes the transfer. It is part of every snapshot, also
    /// after a restart.
    public var label: String
    /// The priority: 0 is normal, and transfers of higher priority run first.
    public var priority: Int

    /// Creates a request.
    public init(_ file: File, label: String = "", priority: Int = 0) {
        self.file = file
        self.label = label
        self.priority = priority
    }
}

/// A file to download with a `Transfers` queue.
public struct DownloadRequest: Sendable {
    /// The id of the manifest, or of the only chunk of a file without one.
    public var manifest: ContentHash
    /// The key of the object that describes the file; nil for a manifest of the queue's own user.
    public let object: ObjectKey?
    /// The SHA-256 of the whole content; nil if it is not known. A file with another one, or with
    /// another size than `size`, is not put in place.
    public var sha256: ContentHash?
    /// The path of the file. An existing file is replaced in one step, after the new one is
    /// verified and on disk.
    public var destination: String
    /// The name to display; nil for the last component of the destination.
    public var name: String?
    /// The path of the partial file, on the same file system; nil for a path beside the
    /// destination.
    public var partial: String?
    /// The size in bytes if it is known, so that it can be displayed before the manifest has
    /// arrived.
    public var size: Int64?
    /// A label by which the application recognizes the transfer. It is part of every snapshot, also
    /// after a restart.
    public var label: String
    /// The priority: 0 is normal, and transfers of higher priority run first.
    public var priority: Int

    /// Creates a request.
    public init(
        _ manifest: ContentHash, to destination: String, name: String? = nil, partial: String? = nil,
        size: Int64? = nil, label: String = "", priority: Int = 0
    ) {
        self.manifest = manifest
        object = nil
        self.destination = destination
        self.name = name
        self.partial = partial
        self.size = size
        self.label = label
        self.priority = priority
    }

    /// Creates a request for a file by the key that documents have in `manifest`: that of a manifest,
    /// or of the chunk of a file that has only one, of this user or of another one who shares it.
    ///
    /// - Throws: `.invalid` if the key is neither.
    public init(
        object: ObjectKey, to destination: String, name: String? = nil, size: Int64? = nil,
        sha256: ContentHash? = nil, label: String = "", priority: Int = 0
    ) throws(ObjectStorageError) {
        guard let reference = ObjectNamespace(of: object)?.reference(object) else {
            throw ObjectStorageError(.invalid, "\(object) is not the key of a file's content")
        }
        manifest = reference.id
        self.object = object
        self.sha256 = sha256
        self.destination = destination
        self.name = name
        self.size = size
        self.label = label
        self.priority = priority
    }
}

/// A file to upload through a `Transfers` queue.
public struct UploadRequest: Sendable {
    public var file: File
    /// What the owner knows it by; it comes back with every snapshot, also after a restart.
    public var label: String
    /// 0 is normal; higher goes first.
    public var priority: Int

    public init(_ file: File, label: String = "", priority: Int = 0) {
        self.file = file
        self.label = label
        self.priority = priority
    }
}

/// A file to download through a `Transfers` queue.
public struct DownloadRequest: Sendable {
    public var manifest: ContentHash
    /// What is there is replaced in one step, once the whole is verified and on the disk.
    public var destination: String
    /// For people; nil for the last part of the destination.
    public var name: String?
    /// Where it grows meanwhile, on the same file system; nil for beside the destination.
    public var partial: String?
    /// Where known, so that it can be shown before the manifest has come.
    public var size: Int64?
    /// What the owner knows it by; it comes back with every snapshot, also after a restart.
    public var label: String
    /// 0 is normal; higher goes first.
    public var priority: Int

    public init(
        _ manifest: ContentHash, to destination: String, name: String? = nil, partial: String? = nil,
        size: Int64? = nil, label: String = "", priority: Int = 0
    ) {
        self.manifest = manifest
        self.destination = destination
        self.name = name
        self.partial = partial
        self.size = size
        self.label = label
        self.priority = priority
    }
}

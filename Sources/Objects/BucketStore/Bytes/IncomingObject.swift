import SystemIO

/// An object that is arriving: a file under a temporary name, hashed as it grows.
///
/// It is used by one request at a time, on a thread that may block. If it is dropped before `keep`,
/// its file is removed.
package struct IncomingObject: ~Copyable {
    /// The number of bytes so far.
    package private(set) var size: Int64 = 0
    private let descriptor: FileDescriptor
    private var path: String
    private var window = PageWindow()
    private var isKept = false
    private var hasher: ObjectHasher

    init(path: String, _ wanted: ObjectDigests.Wanted) throws {
        self.path = path
        descriptor = try FileDescriptor(path: path, [.readWrite, .create, .exclusive], mode: 0o600)
        hasher = ObjectHasher(wanted)
    }

    deinit {
        if !isKept { _ = try? FileSystem.remove(path) }
    }

    /// Appends bytes. Blocks.
    package mutating func append(_ bytes: [UInt8]) throws {
        try descriptor.write(bytes)
        size += Int64(bytes.count)
        try window.hasWritten(upTo: size, of: descriptor)
        hasher.update(bytes)
    }

    /// Returns the digests of all bytes. Call once.
    package mutating func digests() -> ObjectDigests { hasher.finish() }

    /// Makes the bytes durable under a name in `directory`.
    ///
    /// The file is renamed before it is synced, which is safe because no record refers to it until
    /// this returns. One commit of the file system's journal then covers both its bytes and its
    /// name.
    mutating func keep(as name: String, in directory: FileDirectory) throws {
        let target = "\(directory.path)/\(name)"
        try FileSystem.rename(path, to: target)
        path = target
        try descriptor.synchronize()
        try directory.synchronize()
        isKept = true
    }
}

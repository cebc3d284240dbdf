import Synchronization
import SystemIO

/// A file or directory of a disk in memory.
struct MemoryNode: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        /// A file that was opened for reading and writing through a descriptor.
        case open(MemoryFile)
        case directory([ExactText: UInt64])
        case link
        case pipe
    }

    var content: Content
    var mode: UInt32
    var modified: FileTime
    var changed: FileTime
    var attributes: [FileAttribute] = []
    var watch: Int32?
    /// The number of its file system.
    var device = MemoryTree.device

    var children: [ExactText: UInt64]? {
        guard case .directory(let children) = content else { return nil }
        return children
    }

    var kind: FileStatus.Kind {
        switch content {
        case .bytes, .open: .file
        case .directory: .directory
        case .link: .link
        case .pipe: .pipe
        }
    }

    var size: Int {
        switch content {
        case .bytes(let bytes): bytes.count
        case .open(let file): file.size
        default: 0
        }
    }

    /// The number of bytes that count against the disk's capacity. Bytes written through a
    /// descriptor do not count.
    var claimed: Int {
        guard case .bytes(let bytes) = content else { return 0 }
        return bytes.count
    }
}

/// The content of a file that is written through a descriptor or by a path.
final class MemoryFile: Sendable {
    let path: String?
    private let descriptor: FileDescriptor

    private static let count = Atomic(0)

    /// Creates the content.
    ///
    /// - Parameter directory: The directory in which it gets a path; nil for no path.
    init(_ bytes: [UInt8], in directory: String?) throws(SystemError) {
        if let directory {
            let path = "\(directory)/open\(MemoryFile.count.wrappingAdd(1, ordering: .relaxed).newValue)"
            self.path = path
            descriptor = try FileDescriptor(path: path, [.readWrite, .create, .exclusive])
        } else {
            path = nil
            descriptor = try FileDescriptor(inMemory: "ferry")
        }
        try descriptor.write(bytes)
    }

    deinit { if let path { _ = try? FileSystem.remove(path) } }

    /// Opens the content with a position of its own. With a path, it is whatever file is at the
    /// path now, because the writer may have removed it.
    func open(_ options: OpenOptions) throws(SystemError) -> FileDescriptor {
        guard let path else { return try descriptor.reopened(options) }
        return try FileDescriptor(path: path, options.union([.create, .readWrite]))
    }

    var size: Int { (try? open(.read).status()).map { Int(clamping: $0.size) } ?? 0 }

    func bytes() throws(SystemError) -> [UInt8] { try open(.read).read(size, at: 0) }
}

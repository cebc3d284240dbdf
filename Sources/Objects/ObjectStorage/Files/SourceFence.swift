package import SystemIO

/// The properties of a file that must be the same before and after it is read, so that the bytes in
/// between are one version of it.
///
/// A write of the same size within one tick of the file system's clock is not detected: let a file
/// rest for some milliseconds before it is uploaded.
public struct SourceFence: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let modified: FileTime
    private let changed: FileTime
    /// The size in bytes.
    public let size: Int64

    package init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        modified = status.modified
        changed = status.changed
        size = status.size
    }

    /// Creates a fence from the current state of the file at this path.
    public init(path: String) throws(ObjectStorageError) {
        do throws(SystemError) {
            self.init(try FileSystem.status(path))
        } catch {
            throw ObjectStorageError(error)
        }
    }
}

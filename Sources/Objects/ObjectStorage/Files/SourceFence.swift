package import SystemIO

/// What must not differ before and after a file is read, for the bytes between to be one version of it.
///
/// Whoever writes within one tick of the file system's clock of the first look, without changing the size, goes
/// unnoticed: let a file rest for some milliseconds before it is uploaded.
public struct SourceFence: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let modified: FileTime
    private let changed: FileTime
    public let size: Int64

    package init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        modified = status.modified
        changed = status.changed
        size = status.size
    }

    /// Looks at the file that has the path now.
    public init(path: String) throws(ObjectStorageError) {
        do throws(SystemError) {
            self.init(try FileSystem.status(path))
        } catch {
            throw ObjectStorageError(error)
        }
    }
}

package import SystemIO

/// Which version of a file this is, without its content: what `stat` tells. Two equal stamps mean the same bytes, short
/// of a program that sets times back on purpose within one tick of the clock.
package struct FileStamp: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    package var modified: FileTime
    package var changed: FileTime

    package init(device: UInt64, inode: UInt64, size: Int64, modified: FileTime, changed: FileTime) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    package init(_ status: FileStatus) {
        self.init(
            device: status.device, inode: status.inode, size: status.size, modified: status.modified,
            changed: status.changed)
    }

    /// The same file, whatever it is called and says.
    package func isFile(of other: FileStamp) -> Bool { inode == other.inode && device == other.device }

    /// The same file with the same content, whatever its name: a rename moves `changed`, and so do modes and
    /// attributes.
    package func hasContent(of other: FileStamp) -> Bool {
        inode == other.inode && device == other.device && size == other.size && modified == other.modified
    }
}

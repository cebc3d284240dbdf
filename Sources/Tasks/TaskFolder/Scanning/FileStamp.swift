package import SystemIO

/// The version of a file as `stat` describes it, without its content.
///
/// Equal stamps mean equal bytes, unless the file system's clock is too coarse to distinguish two
/// saves (`isCoarse`). A program can set `modified` back, but not `changed`.
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

    /// Whether this is the same file, regardless of its name and content.
    package func isFile(of other: FileStamp) -> Bool { inode == other.inode && device == other.device }

    /// Whether this is the same file and, judging by size and modification time, has the same
    /// content.
    ///
    /// A rename, a new mode, or a new attribute changes `changed` only, so it is not compared. Some
    /// programs, such as encrypted containers, keep the size and `modified` when they write. If
    /// `changed` differs and a missed edit would matter, compare the bytes.
    package func hasContent(of other: FileStamp) -> Bool {
        inode == other.inode && device == other.device && size == other.size && modified == other.modified
    }

    /// Whether the file system appears to keep times in whole seconds, as FAT, ext3, and some
    /// network file systems do. Two saves of equal size within one second then have equal stamps.
    package var isCoarse: Bool { modified.nanoseconds == 0 && changed.nanoseconds == 0 }
}

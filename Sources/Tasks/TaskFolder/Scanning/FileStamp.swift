package import SystemIO

/// The version of a file as `stat` describes it, without its content.
///
/// Equal stamps mean equal bytes unless the file system's clock is too coarse to tell two saves apart (`isCoarse`).
/// A program can set `modified` back, but not `changed`.
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

    /// Whether this is the same file with, as far as size and time of modification show, the same content.
    ///
    /// A rename, a new mode, or a new attribute changes `changed` only, so it is not compared. Because programs such as
    /// encrypted containers keep size and `modified` when they write, compare the bytes where `changed` differs and a
    /// missed edit would matter.
    package func hasContent(of other: FileStamp) -> Bool {
        inode == other.inode && device == other.device && size == other.size && modified == other.modified
    }

    /// Whether the file system seems to keep times in whole seconds, as FAT, ext3, and some network file systems do.
    /// Two saves of equal size within one second then have equal stamps.
    package var isCoarse: Bool { modified.nanoseconds == 0 && changed.nanoseconds == 0 }
}

import CLinux
import Glibc

/// The attributes of a file that stat(2) reports.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Sendable {
        case file
        case directory
        case link
        case pipe
        case socket
        case device
        case unknown
    }

    package var kind: Kind
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    /// The time of the last change of the content. Programs can set it.
    package var modified: FileTime
    /// The time of the last change of content or metadata. Programs cannot set it.
    package var changed: FileTime
    /// The permission bits, without the file type.
    package var mode: UInt32
    package var owner: UInt32
    package var links: UInt64

    package init(
        kind: Kind, device: UInt64, inode: UInt64, size: Int64, modified: FileTime, changed: FileTime, mode: UInt32,
        owner: UInt32, links: UInt64
    ) {
        self.kind = kind
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
        self.mode = mode
        self.owner = owner
        self.links = links
    }

    /// Whether its owner may execute the file.
    package var isExecutable: Bool { mode & 0o100 != 0 }

    /// The mode with execute permission added for everyone who has read permission.
    package var executableMode: UInt32 { mode | (mode & 0o444) >> 2 }

    init(_ status: stat) {
        kind = Kind(mode: status.st_mode)
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = FileTime(status.st_mtim)
        changed = FileTime(status.st_ctim)
        mode = UInt32(status.st_mode & 0o7777)
        owner = UInt32(status.st_uid)
        links = UInt64(status.st_nlink)
    }
}

extension FileStatus.Kind {
    init(mode: mode_t) {
        self =
            switch mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .link
            case S_IFIFO: .pipe
            case S_IFSOCK: .socket
            case S_IFCHR, S_IFBLK: .device
            default: .unknown
            }
    }
}

/// A file system's time stamp.
///
/// Seconds and nanoseconds are separate, because a disk can hold any 64-bit number of seconds and
/// the total in nanoseconds could overflow.
package struct FileTime: Hashable, Comparable, Sendable {
    package var seconds: Int64
    package var nanoseconds: Int32

    package init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// A time that no file has.
    package static let never = FileTime(seconds: .min, nanoseconds: 0)

    init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int32(truncatingIfNeeded: time.tv_nsec))
    }

    package static func < (a: FileTime, b: FileTime) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
}

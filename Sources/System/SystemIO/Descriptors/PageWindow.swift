import CLinux
import Glibc

/// Bounds how much of the page cache one long file occupies while it is written or read once, from
/// start to end.
///
/// Pages are written to disk while later ones are produced, so that the sync at the end has little
/// left to do and a slow disk slows down the writer instead of filling memory. Pages behind the
/// window are dropped from the cache, because they would displace pages that are needed sooner.
/// Files that fit into the window stay cached.
package struct PageWindow: Sendable {
    private static let length: Int64 = 8 << 20

    /// The offset up to which writing to disk has started.
    private var begun: Int64 = 0
    /// The offset up to which pages have been dropped.
    private var left: Int64 = 0

    package init() {}

    /// Reports that everything before `end` has been written with write(2). Waits for the disk if
    /// it is more than two windows behind.
    ///
    /// Throws the disk's write error; a later `synchronize` of this descriptor would not report it
    /// again.
    package mutating func hasWritten(upTo end: Int64, of file: borrowing FileDescriptor) throws(SystemError) {
        while end - begun >= Self.length {
            try file.writeOut(from: begun, Self.length, waiting: false)
            begun += Self.length
            guard begun - left > 2 * Self.length else { continue }
            try file.writeOut(from: left, Self.length, waiting: true)
            file.giveUpPages(from: left, Self.length)
            left += Self.length
        }
    }

    /// Reports that everything before `end` has been read.
    package mutating func hasRead(upTo end: Int64, of file: borrowing FileDescriptor) {
        while end - left >= 2 * Self.length {
            file.giveUpPages(from: left, Self.length)
            left += Self.length
        }
    }
}

extension FileDescriptor {
    /// Starts writing dirty pages to disk, or waits until they are there: sync_file_range(2).
    ///
    /// Does not write metadata: only `synchronize` makes a file durable. Does nothing if the file
    /// system does not support it.
    fileprivate func writeOut(from offset: Int64, _ length: Int64, waiting: Bool) throws(SystemError) {
        guard retry({ ferry_write_out(rawValue, offset, length, waiting ? 1 : 0) }) != 0 else { return }
        if [EINVAL, ENOSYS, EPERM, ESPIPE].contains(errno) { return }
        throw .last("write to disk", path)
    }

    /// Drops the file's pages from the page cache, posix_fadvise(2), if they are on disk already. A
    /// length of 0 means up to the end of the file.
    package func giveUpPages(from offset: Int64 = 0, _ length: Int64 = 0) {
        _ = posix_fadvise(rawValue, off_t(offset), off_t(length), POSIX_FADV_DONTNEED)
    }
}

import CLinux
import Glibc

/// Bounds what one long file takes of the page cache while it is written or read once, from its front to its end, in bulk.
///
/// Written pages go to the disk while later ones are made, so that the sync at the end finds little left to do and a slow
/// disk slows the writer instead of filling memory; pages behind the window are given up, as their next reader, if any,
/// comes later than what they would push out. Files that fit the window stay in memory.
package struct PageWindow: Sendable {
    private static let length: Int64 = 8 << 20

    /// Up to here writing out has begun.
    private var begun: Int64 = 0
    /// Up to here pages are given up.
    private var left: Int64 = 0

    package init() {}

    /// Everything before `end` is written, see write(2). Waits for the disk where it is more than two windows behind.
    ///
    /// Throws what the disk refused; a later `synchronize` of this descriptor would not tell of it again.
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

    /// Everything before `end` was read.
    package mutating func hasRead(upTo end: Int64, of file: borrowing FileDescriptor) {
        while end - left >= 2 * Self.length {
            file.giveUpPages(from: left, Self.length)
            left += Self.length
        }
    }
}

extension FileDescriptor {
    /// Begins to write dirty pages to the disk, or waits until they are there, sync_file_range(2). Says nothing of
    /// metadata: only `synchronize` makes a file durable. Does nothing where the file system cannot.
    fileprivate func writeOut(from offset: Int64, _ length: Int64, waiting: Bool) throws(SystemError) {
        guard retry({ ferry_write_out(rawValue, offset, length, waiting ? 1 : 0) }) != 0 else { return }
        if [EINVAL, ENOSYS, EPERM, ESPIPE].contains(errno) { return }
        throw .last("write to disk", path)
    }

    /// Lets the kernel forget what it holds of the file in memory, posix_fadvise(2). Only pages that are on the disk already;
    /// a length of 0 means up to the end.
    package func giveUpPages(from offset: Int64 = 0, _ length: Int64 = 0) {
        _ = posix_fadvise(rawValue, off_t(offset), off_t(length), POSIX_FADV_DONTNEED)
    }
}

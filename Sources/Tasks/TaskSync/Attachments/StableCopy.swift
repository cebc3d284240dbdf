import Glibc
import SystemIO

/// Copies files that other programs may be writing at the same time.
enum StableCopy {
    private static let attempts = 3
    private static let block = 1 << 20

    /// Copies the content that `source` had at one moment into the empty file `target`. If the file
    /// has only grown since it was examined, as logs do, its earlier length is copied; if its bytes
    /// change while they are read, it is read again.
    ///
    /// - Parameter afterBlock: Called after each block that was read.
    /// - Throws: `TaskSyncError` if the file changes at every attempt; `SystemError`.
    static func copy(
        _ source: borrowing FileDescriptor, to target: borrowing FileDescriptor, afterBlock: () throws -> Void = {}
    ) throws {
        let buffers = (0..<2).map { _ in UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096) }
        defer { for buffer in buffers { buffer.deallocate() } }
        for _ in 0..<attempts {
            let before = try source.status()
            // Files whose content the kernel generates when they are read have no size.
            let end = before.size > 0 ? before.size : .max
            var window = PageWindow()
            var offset: Int64 = 0
            while offset < end {
                let count = Int(min(Int64(try source.read(into: buffers[0], at: offset)), end - offset))
                guard count > 0 else { break }
                try target.write(UnsafeRawBufferPointer(rebasing: buffers[0][..<count]), at: offset)
                offset += Int64(count)
                try window.hasWritten(upTo: offset, of: target)
                try afterBlock()
            }
            let after = try source.status()
            if (after.size, after.modified, after.changed) == (before.size, before.modified, before.changed) { return }
            if offset >= before.size, try begins(source, as: target, upTo: offset, buffers[0], buffers[1]) { return }
            try target.truncate(to: 0)
        }
        throw TaskSyncError(
            .invalid, "\(source.path) changes while it is read. Try again when that is over, or attach a copy of it.")
    }

    private static func begins(
        _ source: borrowing FileDescriptor, as target: borrowing FileDescriptor, upTo end: Int64,
        _ mine: UnsafeMutableRawBufferPointer, _ theirs: UnsafeMutableRawBufferPointer
    ) throws -> Bool {
        var offset: Int64 = 0
        while offset < end {
            let count = try target.read(into: mine, at: offset)
            let other = try source.read(into: theirs, at: offset)
            guard count > 0, other >= count, let mine = mine.baseAddress, let theirs = theirs.baseAddress,
                memcmp(mine, theirs, count) == 0
            else { return false }
            offset += Int64(count)
        }
        return true
    }
}

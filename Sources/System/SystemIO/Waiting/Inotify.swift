import CLinux
import Glibc

/// A queue of changes in watched directories: inotify(7). It uses no processor time while nothing
/// changes.
package final class Inotify: Sendable {
    private let descriptor: FileDescriptor

    /// Creates a queue. Throws `.watchLimit` if this user has too many queues.
    package init() throws(SystemError) {
        let raw = inotify_init1(O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else {
            let number = errno
            guard number == EMFILE else { throw SystemError(errno: number, operation: "start watching") }
            throw SystemError(
                .watchLimit, errno: number, operation: "start watching",
                remedy: Inotify.advice(for: "max_user_instances", enough: 1024))
        }
        descriptor = FileDescriptor(owning: raw, path: "inotify")
    }

    /// Watches one directory without its subdirectories, and returns the watch's number.
    ///
    /// A directory that is already watched keeps its number and gets the new mask. Throws
    /// `.watchLimit` if this user has too many watches.
    package func watch(_ directory: Directory, for mask: InotifyEvent.Mask) throws(SystemError) -> Int32 {
        // Addresses the open directory, so that a rename between opening and watching cannot
        // redirect the watch.
        let path = "/proc/self/fd/\(directory.descriptor.rawValue)"
        let onlyDirectories: UInt32 = 0x0100_0000  // IN_ONLYDIR
        let watch = inotify_add_watch(descriptor.rawValue, path, mask.rawValue | onlyDirectories)
        if watch >= 0 { return watch }
        let number = errno
        guard number == ENOSPC else { throw SystemError(errno: number, operation: "watch", path: directory.path) }
        throw SystemError(
            .watchLimit, errno: number, operation: "watch", path: directory.path,
            remedy: Inotify.advice(for: "max_user_watches", enough: 524_288))
    }

    /// Removes a watch. Does nothing if it no longer exists.
    package func remove(_ watch: Int32) {
        _ = inotify_rm_watch(descriptor.rawValue, watch)
    }

    /// Returns the pending events in order, at most a few hundred at once; an empty array if there
    /// are none.
    package func read() throws(SystemError) -> [InotifyEvent] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        let count = retry { Glibc.read(descriptor.rawValue, buffer.baseAddress, buffer.count) }
        guard count >= 0 else {
            if errno == EAGAIN { return [] }
            throw .last("read", "inotify")
        }
        return Inotify.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    /// Waits until `read` returns events. Only one caller may wait at a time. Throws
    /// CancellationError when the task is cancelled.
    package func wait() async throws {
        try await Poller.readable(descriptor)
    }

    /// Parses records of inotify(7): watch (4 bytes), mask (4), cookie (4), length (4), name padded
    /// with NULs.
    static func parse(_ records: UnsafeRawBufferPointer) -> [InotifyEvent] {
        var events: [InotifyEvent] = []
        var start = 0
        while start + 16 <= records.count {
            let length = Int(records.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
            guard start + 16 + length <= records.count else { break }
            let field = UnsafeRawBufferPointer(rebasing: records[(start + 16)..<(start + 16 + length)])
            let bytes = field.prefix { $0 != 0 }
            let text = String(validating: bytes, as: UTF8.self)
            events.append(
                InotifyEvent(
                    watch: records.loadUnaligned(fromByteOffset: start, as: Int32.self),
                    mask: .init(rawValue: records.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)),
                    cookie: records.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self),
                    name: bytes.isEmpty ? nil : text ?? escapedName(bytes), isInvalidName: text == nil))
            start += 16 + length
        }
        return events
    }

    /// Returns the remedy for a limit that is used up.
    ///
    /// - Parameter limit: a file name in /proc/sys/fs/inotify.
    private static func advice(for limit: String, enough: Int) -> String {
        let current = FileSystem.number("/proc/sys/fs/inotify/\(limit)")
        let stands = current.map { " stands at \($0)" } ?? " is used up"
        let wanted = max(enough, (current ?? 0) * 2)
        return "The limit fs.inotify.\(limit)\(stands); raise it with `sudo sysctl fs.inotify.\(limit)=\(wanted)` "
            + "and, to keep it, write that setting to /etc/sysctl.d/50-ferry.conf"
    }
}

extension FileSystem {
    /// Returns the decimal number in a small file of /proc; nil if the file has none.
    static func number(_ path: String) -> Int? {
        guard let bytes = try? read(path, limit: 64), let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        return Int(text.prefix { $0.isNumber })
    }
}

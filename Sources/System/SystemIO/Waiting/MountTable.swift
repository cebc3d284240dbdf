import CLinux

/// The mounts that this process sees: proc_pid_mountinfo(5). Waiting for changes uses no processor
/// time.
package final class MountTable: Sendable {
    /// A mount of a file system or a directory. No two have the same number.
    package struct Mount: Hashable, Sendable {
        package var number: UInt64
        package var path: String
    }

    private let descriptor: FileDescriptor
    private let changes = AsyncSignal()

    package init() throws(SystemError) {
        descriptor = try FileDescriptor(path: "/proc/self/mountinfo", .read)
        // Such a file is always readable; a change is an urgent condition.
        try Poller.follow(descriptor, for: EPOLLPRI.rawValue) { [changes] in changes.set() }
    }

    deinit { Poller.stopFollowing(descriptor) }

    /// Returns after something was mounted or unmounted, at once if that was since the last call,
    /// and when the task is cancelled.
    package func wait() async { await changes.wait() }

    /// Returns the mounts on the way to a directory and beneath it.
    ///
    /// - Parameter directory: An absolute path without links.
    package static func mounts(around directory: String) throws(SystemError) -> Set<Mount> {
        let table = String(decoding: try FileSystem.read("/proc/self/mountinfo", limit: 16 << 20), as: UTF8.self)
        return Set(parse(table).filter { contains($0.path, directory) || contains(directory, $0.path) })
    }

    private static func contains(_ directory: String, _ path: String) -> Bool {
        path.utf8.starts(with: directory.utf8)
            && (path.utf8.count == directory.utf8.count || directory == "/"
                || path.utf8.dropFirst(directory.utf8.count).first == UInt8(ascii: "/"))
    }

    /// Parses lines with the number of a mount, that of the mount above it, a device, the directory
    /// that is mounted, and the path where it is mounted; more follows. Other lines are left out.
    static func parse(_ table: String) -> [Mount] {
        table.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard fields.count > 4, let number = UInt64(String(Substring(fields[0]))) else { return nil }
            return Mount(number: number, path: unescaped(fields[4]))
        }
    }

    /// Returns a path in which the kernel wrote some characters as a backslash and three octal digits.
    private static func unescaped(_ field: Substring.UTF8View) -> String {
        var (bytes, rest) = ([UInt8](), field)
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3, let escaped = UInt8(String(Substring(digits)), radix: 8) {
                bytes.append(escaped)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

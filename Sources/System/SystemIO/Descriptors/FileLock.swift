import CLinux
import Glibc

/// An advisory lock, flock(2), held until the value is released or the process ends in any way.
///
/// The lock file stays in place afterwards. If it were removed, two processes could lock two
/// different files of one name.
package final class FileLock: Sendable {
    private let descriptor: FileDescriptor

    private init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Acquires the lock, or returns nil if another process or another `FileLock` of this process
    /// holds it. Creates the file with mode 0600.
    package static func acquire(_ path: String) throws(SystemError) -> FileLock? {
        let descriptor = try FileDescriptor(path: path, [.readWrite, .create, .noFollow], mode: 0o600)
        if retry({ flock(descriptor.rawValue, LOCK_EX | LOCK_NB) }) == 0 { return FileLock(descriptor) }
        if errno == EWOULDBLOCK { return nil }
        throw .last("lock", path)
    }

    /// Replaces the content of the lock file, which messages use to name the holder.
    package func write(note: String) throws(SystemError) {
        try descriptor.truncate(to: 0)
        try descriptor.write(Array(note.utf8), at: 0)
    }

    /// Returns the note of the lock's current or most recent holder; nil if there is none or it is
    /// not UTF-8.
    package static func note(of path: String) -> String? {
        guard let bytes = try? FileSystem.read(path, limit: 4096), !bytes.isEmpty else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

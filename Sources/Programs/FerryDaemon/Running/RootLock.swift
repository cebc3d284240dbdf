import Glibc
import SystemIO

/// Keeps two daemons from one tasks directory, also where each has a state of its own: flock(2) on the directory itself, so
/// that nothing has to be written into it.
final class RootLock: Sendable {
    private let descriptor: FileDescriptor

    private init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// nil where the directory is missing, or where its file system has no locks.
    /// - Throws: `DaemonError` when another daemon has it.
    static func take(_ path: String) throws -> RootLock? {
        let descriptor: FileDescriptor
        do { descriptor = try FileDescriptor(path: path, [.read, .directory]) } catch { return nil }
        if flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 { return RootLock(descriptor) }
        guard errno == EWOULDBLOCK else { return nil }
        throw DaemonError(
            .failed, "Another ferryd keeps the tasks directory \(path). Stop it, or give this one another --tasks.")
    }
}

import Glibc
import Synchronization
import SystemIO
import TaskFolder

/// A lock that keeps two daemons from using one tasks directory, even if each has its own state
/// directory.
///
/// It is a flock(2) lock on the directory itself, so nothing has to be written into the directory.
/// The open descriptor keeps the file system busy, so the lock is released together with the
/// directory.
final class RootLock: RootLocking {
    private final class Held: Sendable {
        let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
    }

    private let path: String
    private let held = Mutex<Held?>(nil)

    init(_ path: String) { self.path = path }

    var isHeld: Bool { held.withLock { $0 != nil } }

    /// Takes the lock, unless this process has it. A directory that is missing, or whose file
    /// system does not support locks, is left unlocked.
    func take() throws(SystemError) {
        try held.withLock { held throws(SystemError) in
            guard held == nil, let descriptor = try? FileDescriptor(path: path, [.read, .directory]) else { return }
            guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) != 0 else { return held = Held(descriptor) }
            guard errno == EWOULDBLOCK else { return }
            throw SystemError(
                .busy, operation: "lock", path: path,
                remedy: "Another ferryd uses this tasks directory. Stop it, or give this one another --tasks")
        }
    }

    /// The holder of the lock, as far as it is known.
    enum Holder: Sendable {
        case this
        case nobody
        case another
        /// The file system has no locks.
        case unknown
    }

    /// The present holder of the lock. Reading it does not take the lock.
    var holder: Holder {
        guard !isHeld, let descriptor = try? FileDescriptor(path: path, [.read, .directory]) else {
            return isHeld ? .this : .nobody
        }
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) != 0 else { return .nobody }
        return errno == EWOULDBLOCK ? .another : .unknown
    }

    func release() { held.withLock { $0 = nil } }
}

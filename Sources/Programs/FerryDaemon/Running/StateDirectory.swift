import Cryptography
import Glibc
import JSON
import SystemIO

/// The directory of the daemon's persistent state, with a lock that keeps out a second daemon.
final class StateDirectory: Sendable {
    let path: String
    private let lock: FileLock

    /// Creates the directory, private to its user, and holds the lock for as long as the value
    /// exists.
    ///
    /// - Throws: `DaemonError` with `.failed`.
    init(path: String) throws {
        self.path = path
        do throws(SystemError) {
            try FileSystem.makeDirectories(path, mode: 0o700)
            let status = try FileSystem.status(path)
            if status.mode & 0o077 != 0 {
                try FileDescriptor(path: path, [.read, .directory]).changeMode(0o700)
            }
            guard let lock = try FileLock.acquire("\(path)/lock") else {
                let holder = FileLock.note(of: "\(path)/lock").map { " (\($0))" } ?? ""
                throw SystemError(.busy, operation: "lock", path: path + holder)
            }
            try lock.write(note: "process \(getpid())")
            self.lock = lock
        } catch {
            guard error.code != .busy else {
                throw DaemonError(
                    .failed,
                    "Another ferryd uses the state directory \(error.path ?? path). Stop it, or give this one another --state."
                )
            }
            throw DaemonError(.failed, "The state directory cannot be used: \(error.message).", cause: error)
        }
    }

    var session: String { "\(path)/session.json" }
    var server: String { "\(path)/server.json" }
    /// The file with the id of the anonymous account that this machine was last signed out of.
    var lastAnonymous: String { "\(path)/anonymous" }
    /// The file with the reminders that this machine has shown.
    var reminders: String { "\(path)/reminders.json" }
    private var settings: String { "\(path)/settings.json" }

    /// Returns the path of the replica for one server, database and account. Another identity has
    /// another file, so that its first sync merges and deletes nothing.
    func replica(of identity: String) -> String {
        "\(path)/replica-\(SHA256.hash(identity).hex.prefix(16)).db"
    }

    /// Whether no daemon has ever synced with this state.
    var isNew: Bool {
        get throws(SystemError) {
            try !Directory(path: path).entries().contains { $0.name.hasPrefix("replica-") }
        }
    }

    /// Whether the user has paused syncing.
    var isPaused: Bool {
        let bytes = try? FileSystem.readIfPresent(settings, limit: 4096)
        return (bytes ?? nil).flatMap { try? JSON(parsing: $0) }?["paused"]?.booleanValue ?? false
    }

    func setPaused(_ isPaused: Bool) throws(SystemError) {
        let json: JSON = ["version": 1, "paused": .boolean(isPaused)]
        try FileSystem.replace(settings, with: json.bytes, mode: 0o600)
    }

    /// Renames a damaged replica and its journal files, and returns the new path.
    func setAside(replica: String, time: String) throws(SystemError) -> String {
        let target = "\(replica).damaged-\(time)"
        for suffix in ["", "-wal", "-shm"] where FileSystem.exists(replica + suffix) {
            try FileSystem.rename(replica + suffix, to: target + suffix)
        }
        return target
    }
}

import CommandLineTool
import Glibc
import Synchronization
import SystemIO
import SystemService

/// A restart of the program, after an upgrade has replaced its file or its configuration was
/// corrected.
final class ProgramRestart: Sendable {
    /// A version of the program's file.
    struct Version: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: Int64

        /// Reads the version of a file; nil if it is not there or cannot be run.
        init?(_ path: String) {
            var status = stat()
            guard access(path, X_OK) == 0, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                return nil
            }
            (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
            (size, modified) = (Int64(status.st_size), Int64(status.st_mtim.tv_sec))
        }
    }

    private struct State {
        var seen: Version?
        var isDue = false
    }

    private let path: String?
    private let running: Version?
    private let state = Mutex(State())

    /// Whether the daemon was stopped to start again.
    var isDue: Bool { state.withLock { $0.isDue } }

    /// Remembers the file that runs.
    convenience init() { self.init(path: Self.programPath) }

    init(path: String?) {
        self.path = path
        running = path.flatMap { Version($0) }
    }

    /// Whether the file has become another one, and the same one at this look and the last: it is written completely.
    func isReplaced() -> Bool {
        guard let path, let running, let now = Version(path), now != running else {
            state.withLock { $0.seen = nil }
            return false
        }
        return state.withLock { state in
            defer { state.seen = now }
            return state.seen == now
        }
    }

    /// Stops the daemon, so that it restarts, if its file was replaced and nothing is in progress.
    func look(isIdle: () async -> Bool, _ logger: Logger) async {
        guard !isDue, isReplaced(), await isIdle() else { return }
        logger.notice("the program was replaced; starting the new one")
        state.withLock { $0.isDue = true }
        kill(getpid(), SIGTERM)
    }

    /// Restarts the program. Returns the exit status with which a service manager restarts it; without
    /// one this process becomes the new program.
    static func perform() -> ExitStatus {
        guard ProcessEnvironment["NOTIFY_SOCKET"] == nil, let path = programPath else { return .restart }
        var words: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) } + [nil]
        execv(path, &words)
        return .restart
    }

    /// The path of the program. The kernel adds a word to it once the file was replaced.
    private static var programPath: String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }
}

extension ExitStatus {
    /// EX_TEMPFAIL of sysexits(3), on which the unit starts the daemon again at once.
    static let restart = ExitStatus(75)
}

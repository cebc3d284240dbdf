import Glibc
import SystemIO

/// Other programs that run on the user's terminal.
enum Program {
    /// Runs a program to its end. Returns its exit status, or 128 plus the signal's number if a
    /// signal ended it.
    ///
    /// - Parameter path: absolute, or a name to look for in PATH.
    /// - Parameter output: where its standard output and error go; nil: to those of this program.
    static func run(_ path: String, _ arguments: [String], output: String? = nil) throws -> Int32 {
        var process = pid_t()
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let output {
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY, 0)
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        }
        let reason = posix_spawnp(&process, path, &actions, nil, &words, environ)
        guard reason == 0 else { throw CommandFailure("\(path): \(String(cString: strerror(reason))).") }
        // While the program runs, Ctrl-C is for it and not for this process.
        let old = signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, old) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw CommandFailure("\(path): \(String(cString: strerror(errno))).") }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    /// Whether PATH has a program with that name.
    static func isThere(_ name: String) -> Bool {
        (ProcessEnvironment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").contains {
            access("\($0)/\(name)", X_OK) == 0
        }
    }
}

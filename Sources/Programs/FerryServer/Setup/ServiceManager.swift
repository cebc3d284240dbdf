import Glibc
import ServerData
import SystemIO

/// systemd, as far as `ferry-server setup` needs it.
enum ServiceManager {
    static let unit = "ferry-server.service"
    static let dropIn = "/etc/systemd/system/ferry-server.service.d/setup.conf"

    /// Whether systemd runs this machine and has the server's unit.
    static var hasUnit: Bool {
        FileSystem.exists("/run/systemd/system")
            && ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"].contains {
                FileSystem.exists("\($0)/\(unit)")
            }
    }

    /// Runs `systemctl` to its end; its output goes to standard error.
    ///
    /// - Throws: `ServerError` where it fails.
    static func systemctl(_ arguments: String...) throws {
        guard try status(of: arguments) == 0 else {
            throw ServerError(
                .failed, "systemctl \(arguments.joined(separator: " ")) failed. See: journalctl -u ferry-server -n 20")
        }
    }

    /// Whether the unit is active.
    static var isActive: Bool { (try? status(of: ["--quiet", "is-active", unit])) == 0 }

    private static func status(of arguments: [String]) throws -> Int32 {
        var words: [UnsafeMutablePointer<CChar>?] = (["systemctl"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var process = pid_t()
        let reason = posix_spawnp(&process, "systemctl", &actions, nil, &words, environ)
        guard reason == 0 else { throw ServerError(.failed, "systemctl: \(String(cString: strerror(reason))).") }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw ServerError(.failed, "systemctl: \(String(cString: strerror(errno))).") }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}

import Glibc
import SystemIO

/// The daemon as a service of its user's systemd, as far as `ferry setup` needs it.
enum UserService {
    static let units = ["ferryd.socket", "ferryd.service"]

    /// Whether systemd runs the user's services and has the daemon's units.
    static var isThere: Bool {
        guard let runtime = ProcessEnvironment["XDG_RUNTIME_DIR"], FileSystem.exists("\(runtime)/systemd"),
            Program.isThere("systemctl")
        else { return false }
        return (try? Program.run("systemctl", ["--user", "--quiet", "cat", "ferryd.service"], output: "/dev/null")) == 0
    }

    /// Whether the units start with the user's session.
    static var isEnabled: Bool {
        (try? Program.run("systemctl", ["--user", "--quiet", "is-enabled"] + units, output: "/dev/null")) == 0
    }

    /// Runs `systemctl --user`.
    ///
    /// - Throws: `CommandFailure` where it fails.
    static func systemctl(_ arguments: String...) throws {
        guard try Program.run("systemctl", ["--user", "--quiet"] + arguments) == 0 else {
            throw CommandFailure(
                "systemctl --user \(arguments.joined(separator: " ")) failed.",
                hint: "journalctl --user -u ferryd -n 20 says why.")
        }
    }
}

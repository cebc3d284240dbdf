import Control
import Glibc
import SystemIO

/// Whether the daemon comes back with the next session, and stays without one: what systemd has on the disk.
struct ServiceSetting: Sendable, Hashable {
    /// Whether systemd started this process.
    var isService: Bool
    /// Whether the unit starts with the user's session.
    var isEnabled: Bool
    /// Whether the user's services run without a session.
    var lingers: Bool

    /// Reads how this process was set up.
    static func read(
        environment: (String) -> String? = { ProcessEnvironment[$0] }, lingering: String = "/var/lib/systemd/linger"
    ) -> ServiceSetting {
        let home = environment("HOME") ?? ""
        let configurations = environment("XDG_CONFIG_HOME") ?? "\(home)/.config"
        let directories = ["\(configurations)/systemd/user", "/etc/systemd/user"]
        let wants = ["default.target.wants/ferryd.service", "sockets.target.wants/ferryd.socket"]
        let isEnabled = directories.contains { directory in
            wants.contains { FileSystem.exists("\(directory)/\($0)") }
        }
        let user = getpwuid(geteuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? ""
        return ServiceSetting(
            isService: environment("INVOCATION_ID") != nil && environment("NOTIFY_SOCKET") != nil, isEnabled: isEnabled,
            lingers: !user.isEmpty && FileSystem.exists("\(lingering)/\(user)"))
    }

    var check: HealthCheck {
        guard isService else {
            return HealthCheck(
                "service", .ok, "ferryd was started by hand, and ends with this machine's next stop.",
                remedy: nil)
        }
        guard isEnabled else {
            return HealthCheck(
                "service", .attention, "ferryd is not enabled: it does not start with the next session.",
                remedy: "systemctl --user enable ferryd.socket ferryd.service")
        }
        return HealthCheck(
            "service", .ok,
            lingers
                ? "ferryd starts with this machine."
                : "ferryd runs while you have a session; for longer: loginctl enable-linger.")
    }
}

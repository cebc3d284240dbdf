import CommandLineTool
import Control

extension Command {
    static let doctor = Command.daemon(
        "doctor", group: "Care", summary: "checks that everything works, and says how to fix problems",
        discussion: "The exit status is 6 if something needs attention, 4 if the daemon is not running.",
        options: [.json]
    ) { context in
        let checks: [HealthCheck]
        do {
            let version = try await context.service.status().version
            checks = Doctor.versions(daemon: version) + (try await context.service.health())
        } catch let error as ControlError where error.code == .notRunning {
            context.show([HealthCheck("daemon", .failed, error.message, remedy: error.hint)])
            return .notRunning
        }
        context.show(checks)
        return checks.allSatisfy { $0.state == .ok } ? .success : .attention
    }
}

enum Doctor {
    /// Returns a check if the program and the daemon have different versions. They understand each
    /// other, but one of them was probably not restarted after an update.
    static func versions(daemon: String) -> [HealthCheck] {
        guard daemon != FerryTool.version else { return [] }
        return [
            HealthCheck(
                "version", .attention, "ferry is \(FerryTool.version), but the running daemon is \(daemon).",
                remedy: "systemctl --user restart ferryd")
        ]
    }
}

extension CommandContext {
    fileprivate func show(_ checks: [HealthCheck]) {
        guard !wantsJSON else {
            print(document: ("checks", checks.json))
            return
        }
        for line in lines(of: checks) { terminal.print(line) }
    }

    /// Returns a line for each check, and one for each remedy.
    func lines(of checks: [HealthCheck]) -> [String] {
        checks.flatMap { check -> [String] in
            let (word, style): (String, Terminal.Style) =
                switch check.state {
                case .ok: ("ok       ", .green)
                case .attention, .unknown: ("attention", .yellow)
                case .failed: ("FAILED   ", .red)
                }
            let line = "\(terminal.styled(word, style))  \(check.message.printable)"
            return [line] + (check.remedy.map { ["             \($0.printable)"] } ?? [])
        }
    }
}

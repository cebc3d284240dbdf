import CommandLineTool

/// The `ferry` program.
package enum FerryTool {
    package static let version = packageVersion

    /// The command with all subcommands, in the order of the help.
    static let command: Command = Command(
        "ferry", summary: "controls the daemon that syncs your tasks directory",
        discussion: """
            Tasks are files: edit them in any editor, or with these commands. A TASK is the start of its id, the path of
            its file, or words of its title.
            """,
        options: [
            Option("socket", value: "PATH", summary: "the daemon's socket (FERRY_SOCKET)", completion: .files),
            Option(
                "color", value: "WHEN", summary: "auto, always or never (NO_COLOR)",
                completion: .words(["auto", "always", "never"])),
            Option("verbose", short: "v", summary: "print the causes of errors"),
        ],
        subcommands: [
            .add, .list, .today, .agenda, .show, .edit, .done, .undone, .skip, .snooze, .reminders, .tick, .untick,
            .set, .move, .remove,
            .lists,
            .attach, .attachments, .get, .pin, .unpin, .cat, .open, .detach, .transfers,
            .status, .sync, .pause, .resume, .rebind, .explain,
            .conflicts, .history, .undo, .deletes, .trash, .restore,
            .setup, .login, .link, .unlink, .account, .password, .mail, .logout, .whoami, .share, .unshare,
            .invitations,
            .block, .unblock,
            .devices,
            .doctor, .log, .config, .supportBundle, .import, .export, .completion, .manual,
        ])

    /// Runs a command line and returns the exit status. Errors are printed on standard error.
    package static func run(_ words: [String]) async -> Int32 {
        let status = await status(of: words)
        guard status == ExitStatus.success.code else { return status }
        do { try StandardOutput.check() } catch { return report(error, words) }
        return status
    }

    private static func status(of words: [String]) async -> Int32 {
        do {
            switch try command.parse(words, helpWidth: Terminal(color: "auto").helpWidth) {
            case .help(let text):
                Terminal(color: "auto").print(String(text.dropLast(text.hasSuffix("\n") ? 1 : 0)))
                return ExitStatus.success.code
            case .version:
                Terminal(color: "auto").print("ferry \(version)")
                return ExitStatus.success.code
            case .run(let command, let arguments):
                guard let action = command.action else { return ExitStatus.usage.code }
                return try await action(arguments).code
            }
        } catch {
            return report(error, words)
        }
    }

    /// Prints an error on standard error, unless its message is empty, and returns its exit status.
    private static func report(_ error: any Error, _ words: [String]) -> Int32 {
        let report = ErrorReport(error, program: command.name)
        guard !report.message.isEmpty else { return report.status.code }
        report.write(
            to: Terminal(color: "auto"), asJSON: !Set(words).isDisjoint(with: ["--json", "--ndjson"]),
            isVerbose: !Set(words).isDisjoint(with: ["--verbose", "-v"]))
        return report.status.code
    }
}

import CommandLineTool
import SystemIO
import SystemService

/// The `ferryd` program.
package enum DaemonTool {
    package static let version = packageVersion
    static let releaseDate = "2026-11-21"

    /// The command with all subcommands, in the order of the help.
    static let command: Command = Command(
        "ferryd", summary: "syncs the tasks directory with the other machines of its user",
        discussion: """
            The daemon watches a directory of task files, merges local changes with those of other machines, and
            transfers attachments. 'ferry' controls it; 'ferry login URL' connects it to a server.

                systemctl --user enable --now ferryd.socket ferryd.service
            """,
        subcommands: [.run, .completion, .manual], defaultSubcommand: "run")

    /// Runs a command line and returns the exit status. Errors are printed on standard error.
    package static func run(_ words: [String]) async -> Int32 {
        let console = Console()
        do {
            switch try command.parse(words) {
            case .help(let text):
                console.print(String(text.dropLast(text.hasSuffix("\n") ? 1 : 0)))
                return ExitStatus.success.code
            case .version:
                console.print("ferryd \(version)")
                return ExitStatus.success.code
            case .run(let command, let arguments):
                guard let action = command.action else { return ExitStatus.usage.code }
                return try await action(arguments).code
            }
        } catch let error as UsageError {
            let path = ([command.name] + error.path).joined(separator: " ")
            tell("\(error.message)", hint: "'\(path) --help' shows how.")
            // The options of the daemon itself are its configuration.
            return (error.path.isEmpty || error.path == ["run"] ? ExitStatus.badConfiguration : .usage).code
        } catch let error as DaemonError {
            tell(error.message)
            return (error.code == .configuration ? ExitStatus.badConfiguration : .failure).code
        } catch {
            tell("\(error)")
            return ExitStatus.failure.code
        }
    }

    /// Reports the final error: as a journal line with its level, or as plain text for a person.
    private static func tell(_ message: String, hint: String? = nil) {
        if ProcessEnvironment["JOURNAL_STREAM"] != nil {
            Logger(label: command.name).error([message, hint].compactMap { $0 }.joined(separator: " "))
        } else {
            Console().note("ferryd: \(message)" + (hint.map { "\n  \($0)" } ?? ""))
        }
    }
}

extension ExitStatus {
    /// EX_CONFIG of sysexits(3), with which the unit does not restart.
    static let badConfiguration = ExitStatus(78)
}

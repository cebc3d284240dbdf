import CivilTime
import CommandLineTool
import Control
import JSON
import SystemIO

/// The parts that a command works with: the daemon, the terminal, and the arguments.
struct CommandContext: Sendable {
    let service: any ControlService
    let terminal: Terminal
    let arguments: ParsedArguments
    let due: DueWords

    /// Whether to print one JSON document instead of text.
    var wantsJSON: Bool { arguments.has("json") }

    /// Prints a document with its schema version.
    func print(document members: (String, JSON)...) {
        var object: JSONObject = ["schemaVersion": 1]
        for (key, value) in members { object[key] = value }
        terminal.print(JSON.object(object).text)
    }

    /// Prints rows of cells: aligned on a terminal, separated by tabs elsewhere. What a cell says
    /// may come from another person, and is shown as `printable`.
    func show(rows: [[String]], indent: String = "", flexible: [Int] = [], droppable: [Int] = []) {
        guard terminal.isInteractive else {
            for row in rows.map({ $0.map(\.printable) }) {
                let first = row.prefix(1).map { terminal.styled($0, .faint) }
                terminal.print((first + row.dropFirst()).joined(separator: "\t"))
            }
            return
        }
        var table = Table(flexible: flexible, droppable: droppable)
        for row in rows { table.add([indent + (row.first ?? "")] + row.dropFirst()) }
        for line in table.lines(terminal.format, style: { $0 == 0 ? terminal.styled($1, .faint) : $1 }) {
            terminal.print(line)
        }
    }

    /// Makes a call, and says on standard error what it waits for if that takes longer than a second.
    func announcing<Result: Sendable>(
        _ words: String, _ call: () async throws -> Result
    ) async throws -> Result {
        let note = Task { [terminal] in
            try await Task.sleep(for: .seconds(1))
            terminal.note(words)
        }
        defer { note.cancel() }
        return try await call()
    }

    /// Asks before something destructive: on a terminal; elsewhere `--yes` is needed.
    /// - Throws: `CommandFailure` with status 2 where it was neither confirmed nor can be asked.
    func confirm(_ question: String) throws {
        if arguments.has("yes") { return }
        switch terminal.confirm(question) {
        case true?: return
        case false?: throw CommandFailure("Nothing was changed.", status: .failure)
        case nil: throw CommandFailure(question, hint: "Without a terminal, confirm with --yes.", status: .usage)
        }
    }
}

/// The reason why a command failed, for the user.
struct CommandFailure: Error {
    let message: String
    let hint: String?
    let status: ExitStatus
    /// The causes, which `--verbose` prints.
    let causes: [String]

    init(_ message: String, hint: String? = nil, status: ExitStatus = .failure, causes: [String] = []) {
        self.message = message
        self.hint = hint
        self.status = status
        self.causes = causes
    }
}

extension Command {
    /// Creates a command that uses the daemon.
    static func daemon(
        _ name: String, group: String, summary: String, discussion: String = "", arguments: [Argument] = [],
        options: [Option] = [], subcommands: [Command] = [], defaultSubcommand: String? = nil,
        run: (@Sendable (CommandContext) async throws -> ExitStatus)? = nil
    ) -> Command {
        var command = Command(
            name, summary: summary, discussion: discussion, group: group, arguments: arguments, options: options,
            subcommands: subcommands, defaultSubcommand: defaultSubcommand)
        if let run {
            command.action = { arguments in
                let context = CommandContext(
                    service: ControlClient(socketPath: SocketPath.resolve(arguments.value("socket"))),
                    terminal: Terminal(color: arguments.value("color") ?? "auto"), arguments: arguments,
                    due: DueWords(today: CalendarDay(localAt: Environment.system.wallClock() / 1000)))
                return try await run(context)
            }
        }
        return command
    }
}

extension Option {
    static let json = Option("json", summary: "print one JSON document")
    static let yes = Option("yes", short: "y", summary: "do not ask")
}

extension Argument {
    /// - Parameter kind: The candidates that completion offers.
    static func task(_ count: Count = .one, completing kind: String = "tasks") -> Argument {
        Argument(
            "TASK", count, summary: "an id's beginning, a file's path, or words of the title",
            completion: .program(kind))
    }

    /// An attachment of the task before it.
    static func attachment(_ name: String, _ count: Count, _ summary: String) -> Argument {
        Argument(name, count, summary: summary, completion: .programOfPrevious("attachments"))
    }
}

/// The path of the daemon's socket.
enum SocketPath {
    /// Returns the option, `FERRY_SOCKET`, or `ferry/ferryd.sock` in the user's runtime directory;
    /// for a system service, the socket in `/run/ferry`.
    static func resolve(_ option: String?) -> String {
        if let path = option ?? ProcessEnvironment["FERRY_SOCKET"], !path.isEmpty { return path }
        if let runtime = ProcessEnvironment["XDG_RUNTIME_DIR"], !runtime.isEmpty {
            return "\(runtime)/ferry/ferryd.sock"
        }
        return "/run/ferry/ferryd.sock"
    }
}

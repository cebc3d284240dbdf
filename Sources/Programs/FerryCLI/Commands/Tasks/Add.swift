import CommandLineTool
import Control
import Glibc
import SystemIO

extension Command {
    static let add = Command.daemon(
        "add", group: "Tasks", summary: "adds a task and prints its id",
        discussion: """
            Words form the title; +tag, due:WHEN, priority:LEVEL and list:NAME may be between them. WHEN is a date,
            today, tomorrow, a weekday, +3d or +2w. every:3d, every:mon,thu or every:15 makes the task recur, and
            'every!:2w' counts from the day of completion. remind:30m reminds that long before the due time, and
            'remind:fri 17:00' then. A backslash before a word keeps it unchanged.

                ferry add Buy oat milk +errands due:friday priority:high
            """,
        arguments: [Argument("WORD", .some, summary: "the title, tags and fields")],
        options: [
            Option("list", short: "l", value: "NAME", summary: "the list to add to", completion: .program("lists")),
            Option("stdin", summary: "read the notes from standard input"), .json,
        ]
    ) { context in
        let words: TaskWords
        do throws(UsageError) { words = try TaskWords(context.arguments.arguments("WORD"), due: context.due) } catch {
            throw UsageError(error.message, path: ["add"])
        }
        guard !words.text.isEmpty || words.change.title != nil else {
            throw UsageError("A title is missing.", path: ["add"])
        }
        guard words.change.list == nil || context.arguments.value("list") == nil else {
            throw UsageError("The list is given twice, with --list and list:.", path: ["add"])
        }
        return try await context.add(words)
    }
}

extension CommandContext {
    fileprivate func add(_ words: TaskWords) async throws -> ExitStatus {
        var change = words.change
        change.title = change.title ?? words.text
        if let list = arguments.value("list") { change.list = list }
        if arguments.has("stdin") { change.notes = try readStandardInput(limit: 1 << 20) }
        let task = try await announcing("Waiting for the daemon to save the task.") { [change] in
            try await service.add(change)
        }
        if wantsJSON { print(document: ("task", task.json)) } else { terminal.print(task.id) }
        // The task is saved, so this is not an error, but it has not been sent yet.
        if !wantsJSON, let standstill = try? await service.status().standstill {
            terminal.note("Saved here, and not sent yet: \(standstill.message.printable)")
        }
        return .success
    }
}

/// Returns a file's content as text.
func readText(_ path: String, limit: Int) throws -> String {
    do {
        let bytes = try FileSystem.read(path, limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(path.printable) is not UTF-8 text.")
        }
        return text
    } catch let error as SystemError {
        throw CommandFailure("\(error.message).", status: error.code == .notFound ? .notFound : .failure)
    }
}

/// Returns standard input up to its end, as text.
func readStandardInput(limit: Int) throws -> String {
    guard let text = String(validating: try readStandardInputBytes(limit: limit), as: UTF8.self) else {
        throw CommandFailure("Standard input is not UTF-8 text.")
    }
    return text
}

/// Says that standard input is read, if that is a terminal, which would show nothing.
func noteStandardInput() {
    if isatty(STDIN_FILENO) == 1 {
        Terminal(color: "auto").note("Reading standard input, up to Ctrl-D on a line of its own.")
    }
}

/// Standard input to its end.
func readStandardInputBytes(limit: Int) throws -> [UInt8] {
    noteStandardInput()
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw CommandFailure("Standard input: \(String(cString: strerror(errno))).") }
        guard count > 0 else { return bytes }
        bytes += buffer[..<count]
        guard bytes.count <= limit else { throw CommandFailure("Standard input is longer than \(limit) bytes.") }
    }
}

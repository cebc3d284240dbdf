import CommandLineTool
import Control

extension Command {
    static let completion: Command = Command.daemon(
        "completion", group: "Care", summary: "prints a completion script for a shell",
        discussion: """
            Load it from the shell's start-up file:

                source <(ferry completion bash)
            """,
        arguments: [
            Argument(
                "SHELL", .optional, summary: "bash, zsh or fish", completion: .words(Shell.allCases.map(\.rawValue)))
        ],
        options: [
            Option(
                "candidates", value: "KIND", summary: "print candidates, as the scripts do", completion: .words(kinds)),
            Option("of", value: "TASK", summary: "the task whose attachments are candidates"),
        ]
    ) { context in
        if let kind = context.arguments.value("candidates") {
            for line in try await context.candidates(kind) { context.terminal.print(line) }
            return .success
        }
        guard let shell = context.arguments.argument("SHELL").flatMap(Shell.init(rawValue:)) else {
            throw UsageError("Name a shell: bash, zsh or fish.", path: ["completion"])
        }
        context.terminal.print(FerryTool.command.completionScript(for: shell))
        return .success
    }

    /// The kinds of arguments for which candidates are printed.
    private static let kinds = [
        "tasks", "completed", "attachments", "lists", "trash", "deletes", "conflicts", "transfers", "invitations",
        "blocks",
    ]

    static let manual: Command = Command(
        "manual", summary: "prints a manual page, for man -l -", group: "Care",
        arguments: [
            Argument(
                "PAGE", .optional, summary: "ferry, the default, or ferry-task",
                completion: .words(["ferry", "ferry-task"]))
        ],
        action: { arguments in
            let terminal = Terminal(color: "never")
            switch arguments.argument("PAGE") ?? "ferry" {
            case "ferry":
                terminal.print(
                    FerryTool.command.manualPage(
                        section: 1, version: FerryTool.version, date: FerryTool.releaseDate,
                        extra: FerryTool.manualSections))
            case "ferry-task": terminal.print(FerryTool.taskFilePage)
            case let page:
                throw UsageError("There is no page '\(page)'; there are ferry and ferry-task.", path: ["manual"])
            }
            return .success
        })
}

extension CommandContext {
    /// Returns one candidate per line: the value, followed by a tab and its description.
    ///
    /// A value that cannot be typed as shown, or that a command would take for an option, is left
    /// out.
    fileprivate func candidates(_ kind: String) async throws -> [String] {
        try await described(kind)
            .filter { !$0.value.isEmpty && !$0.value.hasPrefix("-") && $0.value == $0.value.printable }
            .map { value, words in words.map { "\(value)\t\($0.printable)" } ?? value }
    }

    private func described(_ kind: String) async throws -> [(value: String, words: String?)] {
        switch kind {
        case "tasks", "completed":
            let tasks = try await service.tasks(TaskFilter(isCompleted: kind == "completed")).summaries()
            let length = shortIDLength(tasks.map(\.id))
            return tasks.map { (String($0.id.prefix(length)), $0.title) }
        case "attachments":
            return try await service.task(try await task(arguments.value("of") ?? "")).attachments.map {
                ($0.name, "\(formatted(bytes: $0.size)), \($0.state.rawValue)")
            }
        case "lists": return try await service.lists().map { ($0.name.isEmpty ? "Inbox" : $0.name, nil) }
        case "trash": return try await service.trash().map { (String($0.id.prefix(8)), $0.attachment ?? $0.title) }
        case "deletes": return try await service.heldDeletes().map { (String($0.taskID.prefix(8)), $0.title) }
        case "conflicts":
            let conflicts = try await service.conflicts()
            let length = shortIDLength(conflicts.map(\.handle))
            return conflicts.map { (String($0.handle.prefix(length)), "\($0.title): \($0.label)") }
        case "transfers":
            return try await service.transfers().filter { !$0.isOver }.map { (String($0.id.prefix(8)), $0.name) }
        case "invitations":
            return try await service.invitations().filter { !$0.isSent }.enumerated().map {
                ("\($0 + 1)", "\($1.list) from \($1.from)")
            }
        case "blocks": return try await service.blocks().map { ($0.name, nil) }
        default: return []
        }
    }
}

extension FerryTool {
    static let releaseDate = "2026-11-21"

    static let manualSections: [(title: String, text: String)] = [
        (
            "Exit status",
            """
            0 done

            1 failed

            2 wrong usage

            3 not found, or ambiguous

            4 the daemon is not running

            5 offline, paused, or timed out

            6 attention needed: a conflict, a held delete or revert, a rejected change, a paused transfer or a problem

            7 sign-in needed

            8 partly done

            130 interrupted

            Any other status is a failure too.
            """
        ),
        WaitingState.manualSection,
        (
            "Environment",
            """
            VISUAL, or EDITOR, is the program that 'ferry edit' runs.

            FERRY_SOCKET names the daemon's socket (default: ferry/ferryd.sock in XDG_RUNTIME_DIR).

            NO_COLOR, if set, turns color off.
            """
        ),
        ("See also", "ferry-task(7), ferryd(8), ferryd.yaml(5), ferry-server(8)"),
    ]
}

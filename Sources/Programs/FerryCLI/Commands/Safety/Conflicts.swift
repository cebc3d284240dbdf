import CommandLineTool
import Control

extension Command {
    static let conflicts = Command.daemon(
        "conflicts", group: "Safety", summary: "shows and resolves values that a merge replaced",
        discussion: """
            If two machines changed the same field, the change that reached the server last wins, and the other one is
            kept. This command shows both and chooses one. 'ferry history TASK' shows them permanently.
            """,
        subcommands: [
            .daemon("list", group: "", summary: "shows the open conflicts", options: [.json]) { context in
                let conflicts = try await context.service.conflicts()
                context.show(conflicts: conflicts)
                if conflicts.isEmpty, !context.wantsJSON { context.terminal.note("There are no open conflicts.") }
                guard !conflicts.isEmpty else { return .success }
                if !context.wantsJSON {
                    context.terminal.note(
                        "'ferry conflicts keep TASK' keeps the current value, 'ferry conflicts restore TASK' brings back what was displaced."
                    )
                }
                return .attention
            },
            deciding("keep", .mine, "keeps the current value", synonym: "mine"),
            deciding("restore", .theirs, "restores the replaced value", synonym: "theirs"),
            deciding("dismiss", .dismiss, "keeps the current value and forgets the conflict; history keeps the value"),
        ], defaultSubcommand: "list")

    private static func deciding(
        _ name: String, _ decision: ConflictDecision, _ summary: String, synonym: String? = nil
    ) -> Command {
        var command = Command.daemon(
            name, group: "", summary: summary,
            arguments: [
                Argument(
                    "ID", .any, summary: "the id of a conflict, or its start, or a task, for all of its conflicts",
                    completion: .program("conflicts"))
            ],
            options: [Option("all", summary: "all of them"), .json]
        ) { context in
            let ids = context.arguments.arguments("ID")
            guard context.arguments.has("all") != !ids.isEmpty else {
                throw UsageError("Name the conflicts, or give --all.", path: ["conflicts", name])
            }
            let settled = try await context.service.resolveConflicts(decision, ids: ids)
            guard !context.wantsJSON else {
                context.print(document: ("conflicts", settled.json))
                return .success
            }
            for conflict in settled {
                let (value, verb) =
                    decision == .theirs ? (conflict.displaced, "is back") : (conflict.standing, "stays")
                context.terminal.print(
                    "\(context.terminal.shown(conflict.title)): \(conflict.label.printable) \(context.terminal.shown(value.firstLine)) \(verb)"
                )
            }
            return .success
        }
        command.synonyms = synonym.map { [$0] } ?? []
        return command
    }
}

extension CommandContext {
    /// Prints conflicts, or the history of one task without its title.
    func show(conflicts: [ConflictSummary], showsTitle: Bool = true) {
        guard !wantsJSON else {
            print(document: (showsTitle ? "conflicts" : "history", conflicts.json))
            return
        }
        let length = shortIDLength(conflicts.map(\.handle))
        for conflict in conflicts {
            let task = showsTitle ? terminal.styled(terminal.shown(conflict.title), .bold) + ": " : ""
            let mark = conflict.isOpen && !showsTitle ? "  " + terminal.styled("waits: ferry conflicts", .yellow) : ""
            terminal.print(
                "\(terminal.styled(String(conflict.handle.prefix(length)).printable, .faint))  \(task)\(conflict.label.printable)\(mark)"
            )
            show(showsTitle ? "stands" : "now", conflict.standing, conflict.standingDevice, conflict.standingTime)
            show("displaced", conflict.displaced, conflict.displacedDevice, conflict.displacedTime)
            terminal.print(lines: terminal.folded("    \(conflict.explanation.printable)", indent: 4))
        }
    }

    private func show(_ name: String, _ value: String, _ device: String?, _ time: String?) {
        let lines = value.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
            terminal.shown(String($0))
        }
        let who = [device?.printable, time.map { MomentWords.text($0) }].compactMap { $0 }.joined(separator: ", ")
        let label = name + String(repeating: " ", count: 11 - name.count)
        let mark = who.isEmpty ? "" : terminal.styled("   (\(who))", .faint)
        guard lines.count > 1 else {
            terminal.print("    \(label)\(lines.first ?? "")\(mark)")
            return
        }
        terminal.print("    \(label)\(mark)")
        for line in lines.last == "" ? lines.dropLast() : lines[...] {
            // A line of notes may be long, and its continuation is no line of its own.
            terminal.print(lines: terminal.folded("      | \(line)", indent: 8))
        }
    }
}

extension String {
    /// The first line, with an ellipsis if there are more.
    var firstLine: String {
        let lines = split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)
        guard let first = lines.first else { return "" }
        return lines.count > 1 ? first + " …" : String(first)
    }
}

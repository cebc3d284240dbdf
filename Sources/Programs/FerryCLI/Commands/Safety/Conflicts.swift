import CommandLineTool
import Control

extension Command {
    static let conflicts = Command.daemon(
        "conflicts", group: "Safety", summary: "shows and settles values that a merge displaced",
        subcommands: [
            .daemon("list", group: "", summary: "shows what was displaced", options: [.json]) { context in
                let conflicts = try await context.service.conflicts()
                context.show(conflicts)
                return conflicts.isEmpty ? .success : .attention
            },
            deciding("mine", .mine, "keeps what stands"),
            deciding("theirs", .theirs, "brings the displaced value back"),
            deciding("dismiss", .dismiss, "keeps what stands and forgets the conflict; history keeps the value"),
        ], defaultSubcommand: "list")

    private static func deciding(_ name: String, _ decision: ConflictDecision, _ summary: String) -> Command {
        .daemon(
            name, group: "", summary: summary,
            arguments: [Argument("ID", .any, summary: "the conflict's id or its beginning")],
            options: [Option("all", summary: "all of them"), .json]
        ) { context in
            let ids = context.arguments.arguments("ID")
            guard context.arguments.has("all") != !ids.isEmpty else {
                throw UsageError("Name the conflicts, or say --all.", path: ["conflicts", name])
            }
            context.show(try await context.service.resolveConflicts(decision, ids: ids))
            return .success
        }
    }
}

extension CommandContext {
    fileprivate func show(_ conflicts: [ConflictSummary]) {
        if wantsJSON {
            print(document: ("conflicts", conflicts.json))
            return
        }
        for conflict in conflicts {
            let task = terminal.styled(conflict.title.printable, .bold)
            terminal.print("\(conflict.id.prefix(8))  \(task)  \(conflict.field)")
            terminal.print("    stands:    \(conflict.standing.printable)")
            terminal.print("    displaced: \(conflict.displaced.printable)")
        }
        if conflicts.isEmpty { terminal.note("No conflicts wait.") }
    }
}

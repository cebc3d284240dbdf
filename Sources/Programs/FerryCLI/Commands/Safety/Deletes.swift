import CommandLineTool
import Control

extension Command {
    static let deletes = Command.daemon(
        "deletes", group: "Safety", summary: "shows, sends or undoes deletes and reverts that were held",
        discussion: """
            Deletes of many tasks at once are held until you approve them; edits go on meanwhile, and a file that comes back
            cancels its delete. So are many files at once that go back to older versions, as when an old backup is copied over
            the directory; one that comes forward again, or is edited, is held no more.
            """,
        subcommands: [
            .daemon("list", group: "", summary: "shows what is held", options: [.json]) { context in
                let held = try await context.service.heldDeletes()
                context.show(held)
                return held.isEmpty ? .success : .attention
            },
            deciding("approve", .approve, "moves the tasks to the trash everywhere, or sends the older versions"),
            deciding("restore", .restore, "brings the files back, as they were"),
        ], defaultSubcommand: "list")

    private static func deciding(_ name: String, _ decision: DeleteDecision, _ summary: String) -> Command {
        .daemon(
            name, group: "", summary: summary, arguments: [.task(.any, completing: "deletes")],
            options: [Option("all", summary: "all of them"), .yes, .json]
        ) { context in
            let tasks = context.arguments.arguments("TASK")
            guard context.arguments.has("all") != !tasks.isEmpty else {
                throw UsageError("Name the tasks, or give --all.", path: ["deletes", name])
            }
            if decision == .approve, tasks.isEmpty {
                let held = try await context.service.heldDeletes()
                let reverts = held.count(where: \.isRevert)
                let questions = [
                    (held.count - reverts, "delete \(Count(held.count - reverts, "task"))"),
                    (reverts, "take back \(Count(reverts, "task")) to older versions"),
                ].filter { $0.0 > 0 }.map(\.1).joined(separator: " and ")
                if !held.isEmpty {
                    try context.confirm("\(questions.prefix(1).uppercased())\(questions.dropFirst()) on every machine?")
                }
            }
            guard !tasks.isEmpty else {
                context.show(try await context.service.decideDeletes(decision, tasks: []))
                return .success
            }
            let outcome = try await context.each(tasks) {
                try await context.service.decideDeletes(decision, tasks: [$0])
            }
            context.show(outcome.results.flatMap { $0 })
            return outcome.status
        }
    }
}

extension CommandContext {
    fileprivate func show(_ held: [HeldDelete]) {
        if wantsJSON {
            print(document: ("deletes", held.json))
            return
        }
        var table = Table(flexible: [1], droppable: [2])
        for delete in held {
            table.add([
                String(delete.taskID.prefix(8)), delete.title.printable, delete.list.printable,
                MomentWords.text(delete.since), delete.isRevert ? "older version" : "deleted",
            ])
        }
        for line in table.lines(terminal.format, style: { $1 }) { terminal.print(line) }
        if held.isEmpty { terminal.note("Nothing is held.") }
    }
}

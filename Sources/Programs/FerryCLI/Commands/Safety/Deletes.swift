import CommandLineTool
import Control

extension Command {
    static let deletes = Command.daemon(
        "deletes", group: "Safety", summary: "shows, sends or undoes deletes that were held",
        discussion: """
            Deletes of many tasks at once are held until you approve them; edits go on meanwhile, and a file that comes back
            cancels its delete.
            """,
        subcommands: [
            .daemon("list", group: "", summary: "shows the deletes that are held", options: [.json]) { context in
                let held = try await context.service.heldDeletes()
                context.show(held)
                return held.isEmpty ? .success : .attention
            },
            deciding("approve", .approve, "moves the tasks to the trash everywhere"),
            deciding("restore", .restore, "brings the files back"),
        ], defaultSubcommand: "list")

    private static func deciding(_ name: String, _ decision: DeleteDecision, _ summary: String) -> Command {
        .daemon(
            name, group: "", summary: summary, arguments: [.task(.any, completing: "deletes")],
            options: [Option("all", summary: "all of them"), .yes, .json]
        ) { context in
            let tasks = context.arguments.arguments("TASK")
            guard context.arguments.has("all") != !tasks.isEmpty else {
                throw UsageError("Name the tasks, or say --all.", path: ["deletes", name])
            }
            if decision == .approve, tasks.isEmpty {
                let held = try await context.service.heldDeletes()
                try context.confirm("Delete \(Count(held.count, "task")) on every machine?")
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
                MomentWords.text(delete.since),
            ])
        }
        for line in table.lines(terminal.format, style: { $1 }) { terminal.print(line) }
        if held.isEmpty { terminal.note("No deletes are held.") }
    }
}

import CommandLineTool
import Control

extension Command {
    static let remove = Command.daemon(
        "rm", group: "Tasks", summary: "moves tasks to the trash", discussion: "'ferry restore' brings them back.",
        arguments: [.task(.some)], options: [.yes, .json]
    ) { context in
        let tasks = context.arguments.arguments("TASK")
        if tasks.count > 1 { try context.confirm("Move \(tasks.count) tasks to the trash?") }
        // Resolve all tasks first and remove them together, so that they are one step of 'ferry
        // undo'.
        var outcome = try await context.each(tasks) { word in
            try await context.service.task(try await context.task(word)).summary
        }
        if !outcome.results.isEmpty {
            outcome.results = try await context.service.remove(outcome.results.map(\.id), confirmed: true)
        }
        return context.show(outcome)
    }
}

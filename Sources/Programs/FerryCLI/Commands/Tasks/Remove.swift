import CommandLineTool
import Control

extension Command {
    static let remove = Command.daemon(
        "rm", group: "Tasks", summary: "moves tasks to the trash", discussion: "'ferry restore' brings them back.",
        arguments: [.task(.some)], options: [.yes, .json]
    ) { context in
        let tasks = context.arguments.arguments("TASK")
        if tasks.count > 1 { try context.confirm("Move \(tasks.count) tasks to the trash?") }
        let removed = try await context.service.remove(tasks, confirmed: true)
        context.show(removed)
        return .success
    }
}

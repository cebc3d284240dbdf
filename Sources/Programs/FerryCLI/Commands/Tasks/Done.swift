import CommandLineTool
import Control

extension Command {
    static let done = completing("done", true, "completes tasks")
    static let undone = completing("undone", false, "reopens completed tasks")

    private static func completing(_ name: String, _ isCompleted: Bool, _ summary: String) -> Command {
        .daemon(
            name, group: "Tasks", summary: summary,
            arguments: [.task(.some, completing: isCompleted ? "tasks" : "completed")], options: [.json]
        ) { context in
            let change = TaskChange(isCompleted: isCompleted)
            return context.show(
                try await context.each(context.arguments.arguments("TASK")) { word in
                    try await context.service.change(try await context.task(word), change)
                })
        }
    }
}

extension CommandContext {
    /// Changes the task that the arguments name, and prints its new state.
    func change(_ change: TaskChange) async throws -> ExitStatus {
        show([try await service.change(try await task(), change)])
        return .success
    }

    /// Prints the tasks that a command has changed.
    func show(_ tasks: [TaskSummary]) {
        if wantsJSON {
            print(document: ("tasks", tasks.json))
        } else {
            TaskTable(terminal: terminal).print(tasks, showsList: true)
        }
    }
}

import CommandLineTool
import Control

extension Command {
    static let done = completing("done", true, "completes tasks")
    static let undone = completing("undone", false, "opens completed tasks again")

    private static func completing(_ name: String, _ isCompleted: Bool, _ summary: String) -> Command {
        .daemon(name, group: "Tasks", summary: summary, arguments: [.task(.some)], options: [.json]) { context in
            try await context.change(context.arguments.arguments("TASK"), TaskChange(isCompleted: isCompleted))
        }
    }
}

extension CommandContext {
    /// Changes each task and prints what it became.
    func change(_ tasks: [String], _ change: TaskChange) async throws -> ExitStatus {
        var changed: [TaskSummary] = []
        for task in tasks { changed.append(try await service.change(task, change)) }
        show(changed)
        return .success
    }

    /// Prints what a command did to tasks.
    func show(_ tasks: [TaskSummary]) {
        if wantsJSON {
            print(document: ("tasks", tasks.json))
        } else {
            TaskTable(terminal: terminal).print(tasks, showsList: true)
        }
    }
}

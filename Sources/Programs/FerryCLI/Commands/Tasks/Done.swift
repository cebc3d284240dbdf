import CivilTime
import CommandLineTool
import Control

extension Command {
    static let done = completing(
        "done", true, "completes tasks, or the current occurrence of recurring ones",
        discussion: """
            The date of a recurring task moves to the next occurrence. With --archive the completed one stays as a task of
            its own, with its day in the title; 'ferry set TASK archive=each' does so with each.
            """,
        options: [Option("archive", summary: "keep the occurrence as a task of its own"), .json])
    static let undone = completing(
        "undone", false, "reopens completed tasks, or the last occurrence of recurring ones", options: [.json])

    private static func completing(
        _ name: String, _ isCompleted: Bool, _ summary: String, discussion: String = "", options: [Option]
    ) -> Command {
        .daemon(
            name, group: "Tasks", summary: summary, discussion: discussion,
            arguments: [.task(.some, completing: isCompleted ? "tasks" : "completed")], options: options
        ) { context in
            var change = TaskChange(isCompleted: isCompleted)
            if isCompleted { change.isArchived = context.arguments.has("archive") }
            change.today = context.due.today.description
            return context.show(
                try await context.each(context.arguments.arguments("TASK")) { [change] word in
                    try await context.service.change(try await context.task(word), change)
                })
        }
    }

    static let skip = Command.daemon(
        "skip", group: "Tasks", summary: "skips the current occurrence of recurring tasks",
        discussion: "The date moves to the next occurrence. 'ferry undo' takes it back.",
        arguments: [.task(.some, completing: "tasks")], options: [.json]
    ) { context in
        var change = TaskChange()
        change.isSkipped = true
        change.today = context.due.today.description
        return context.show(
            try await context.each(context.arguments.arguments("TASK")) { [change] word in
                try await context.service.change(try await context.task(word), change)
            })
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

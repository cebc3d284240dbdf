import CivilTime
import CommandLineTool
import Control

extension Command {
    static let tick = ticking(
        "tick", isDone: true, "ticks items of a task's checklist, or lists them",
        """
        The items are the lines '- [ ] …' of the notes, counted from 1. Without N they are listed with their numbers.

            ferry tick groceries 2 3
        """)
    static let untick = ticking("untick", isDone: false, "reopens items of a task's checklist", "")

    private static func ticking(_ name: String, isDone: Bool, _ summary: String, _ discussion: String) -> Command {
        .daemon(
            name, group: "Tasks", summary: summary, discussion: discussion,
            arguments: [
                .task(completing: "tasks"),
                Argument("N", isDone ? .any : .some, summary: "the numbers of items"),
            ], options: [.json]
        ) { context in
            let numbers = try context.arguments.arguments("N").map { word in
                guard let number = Int(word), number > 0 else {
                    throw UsageError("'\(word)' is not the number of an item.", path: [name])
                }
                return number
            }
            let task = try await context.task()
            if !numbers.isEmpty {
                var change = TaskChange()
                if isDone { change.ticks = numbers } else { change.unticks = numbers }
                change.today = context.due.today.description
                _ = try await context.service.change(task, change)
            }
            ChecklistReport(context: context).show(try await context.service.task(task))
            return .success
        }
    }
}

/// Prints the items of a task's checklist with their numbers.
private struct ChecklistReport {
    let context: CommandContext

    func show(_ task: TaskDetail) {
        let terminal = context.terminal
        if context.wantsJSON {
            context.print(document: ("task", task.summary.json), ("items", task.checklist.json))
            return
        }
        if task.checklist.isEmpty { terminal.note("The notes have no items '- [ ] …'.") }
        for (index, item) in task.checklist.enumerated() {
            let number = String(index + 1)
            let padding = String(repeating: " ", count: max(0, 2 - number.count))
            terminal.print(
                lines: terminal.folded(
                    "\(padding)\(number) \(item.isDone ? "[x]" : "[ ]") \(terminal.shown(item.text))", indent: 7))
        }
    }
}

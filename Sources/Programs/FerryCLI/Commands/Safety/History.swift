import CommandLineTool
import Control
import JSON

extension Command {
    static let history = Command.daemon(
        "history", group: "Safety", summary: "shows the replaced values of a task, newest first",
        discussion: """
            Each value that a merge replaced, with who had set it and whose change replaced it; attachments that were
            removed or replaced; and a version that a save overwrote before it was seen. 'ferry restore ID' brings it
            back.
            """,
        arguments: [.task()], options: [.json]
    ) { context in
        let history = try await context.service.history(try await context.task())
        context.show(conflicts: history, showsTitle: false)
        if history.isEmpty, !context.wantsJSON { context.terminal.note("No value of this task was ever replaced.") }
        return .success
    }

    static let explain = Command.daemon(
        "explain", group: "Sync",
        summary: "explains for each field of a task who set it, when, and by which rule",
        discussion: "Times are the server's: the clocks of machines decide nothing.",
        arguments: [.task()], options: [.json]
    ) { context in
        let explanation = try await context.service.explanation(try await context.task())
        guard !context.wantsJSON else {
            context.terminal.print(explanation.json.text)
            return .success
        }
        let terminal = context.terminal
        let task = explanation.task
        terminal.print(terminal.styled("\(task.isCompleted ? "[x]" : "[ ]") \(terminal.shown(task.title))", .bold))
        context.show(
            rows: explanation.fields.map { field in
                [
                    field.label.printable, field.value.firstLine.cut(to: 40).printable, field.device.printable,
                    MomentWords.text(field.time), field.explanation.printable,
                ]
            }, indent: "  ", flexible: [1, 4], droppable: [2])
        for remark in explanation.remarks {
            terminal.print(lines: terminal.folded("  \(remark.printable)", indent: 2))
        }
        return .success
    }

    static let undo = Command.daemon(
        "undo", group: "Safety", summary: "undoes the last change with a new one",
        discussion: """
            Without TASK, it undoes the last command of this machine that changed tasks; with TASK, the last change of
            that task by a command or from another machine. Fields that were changed since are left unchanged. Repeat it
            to undo the change before.

                ferry undo milk --dry-run
            """,
        arguments: [.task(.optional)],
        options: [Option("dry-run", short: "n", summary: "only report what it would do"), .json]
    ) { context in
        var task: String?
        if let word = context.arguments.argument("TASK") { task = try await context.task(word) }
        let undone = try await context.service.undo(
            task, isTrial: context.arguments.has("dry-run"))
        guard !context.wantsJSON else {
            context.print(document: ("undone", undone.json))
            return .success
        }
        if undone.isEmpty { context.terminal.note("The changed items no longer exist, so there is nothing to undo.") }
        for task in undone {
            context.terminal.print(context.terminal.styled(task.title.printable, .bold))
            for effect in task.effects { context.terminal.print("  \(effect.firstLine.printable)") }
        }
        return .success
    }
}

import CommandLineTool
import Control
import JSON

extension Command {
    static let history = Command.daemon(
        "history", group: "Safety", summary: "shows what was displaced of a task, newest first",
        discussion: """
            Each value that gave way in a merge, with who had set it and whose change took its place; attachments that were removed or
            replaced; and what a save put away that had come a moment before. 'ferry restore ID' brings it back.
            """,
        arguments: [.task()], options: [.json]
    ) { context in
        let history = try await context.service.history(try await context.task())
        context.show(conflicts: history, showsTitle: false)
        if history.isEmpty, !context.wantsJSON { context.terminal.note("Nothing of this task was ever displaced.") }
        return .success
    }

    static let explain = Command.daemon(
        "explain", group: "Sync",
        summary: "says of each field of a task who made it what it is, when, and by which rule",
        discussion: "Times are the server's: no machine's clock decides anything.",
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
        "undo", group: "Safety", summary: "undoes the last change, as a new one",
        discussion: """
            Without TASK it is the last command of this machine that changed tasks; with TASK the last change of that task, by a
            command or from another machine. What somebody changed since stays. Again undoes the one before.

                ferry undo milk --dry-run
            """,
        arguments: [.task(.optional)],
        options: [Option("dry-run", short: "n", summary: "only tell what it would do"), .json]
    ) { context in
        var task: String?
        if let word = context.arguments.argument("TASK") { task = try await context.task(word) }
        let undone = try await context.service.undo(
            task, isTrial: context.arguments.has("dry-run"))
        guard !context.wantsJSON else {
            context.print(document: ("undone", undone.json))
            return .success
        }
        if undone.isEmpty { context.terminal.note("What was changed is gone for good; nothing is left to undo of it.") }
        for task in undone {
            context.terminal.print(context.terminal.styled(task.title.printable, .bold))
            for effect in task.effects { context.terminal.print("  \(effect.firstLine.printable)") }
        }
        return .success
    }
}

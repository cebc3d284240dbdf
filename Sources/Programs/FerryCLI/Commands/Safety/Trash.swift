import CommandLineTool
import Control

extension Command {
    static let trash = Command.daemon(
        "trash", group: "Safety", summary: "shows deleted tasks and attachments that can be restored", options: [.json]
    ) { context in
        let trash = try await context.service.trash()
        if context.wantsJSON {
            context.print(document: ("trash", trash.tasks.json), ("attachments", trash.attachments.json))
            return .success
        }
        var table = Table(flexible: [1], droppable: [2, 3])
        for task in trash {
            table.add([
                String(task.id.prefix(8)),
                task.attachment.map { "\(task.title.printable): \($0.printable)" } ?? task.title.printable,
                task.list.printable,
                task.deletedTime.map { MomentWords.text($0) } ?? "not yet sent",
                task.keptUntil.map { "kept until \(MomentWords.text($0).prefix(10))" } ?? "",
            ])
        }
        for line in table.lines(context.terminal.format, style: { $1 }) { context.terminal.print(line) }
        if trash.isEmpty { context.terminal.note("The trash is empty.") }
        return .success
    }

    static let restore = Command.daemon(
        "restore", group: "Safety", summary: "restores tasks, attachments and replaced values",
        discussion: """
            TASK is a task in the trash, by its id or words of its title; an attachment that was removed or replaced, by
            its name or the id that 'ferry trash' shows; or a value of a task's history, by the id that 'ferry history'
            shows. The current value is kept in the history.
            """,
        arguments: [
            Argument(
                "TASK", .some, summary: "the start of an id, words of the title, or an attachment's name",
                completion: .program("trash"))
        ],
        options: [.json]
    ) { context in
        let outcome = try await context.each(context.arguments.arguments("TASK")) { word in
            try await context.service.restore([word])
        }
        return context.show(Outcome(results: outcome.results.flatMap { $0 }, failures: outcome.failures))
    }
}

import CommandLineTool
import Control

extension Command {
    static let set = Command.daemon(
        "set", group: "Tasks", summary: "changes fields of a task",
        discussion: """
            title:TEXT, due:WHEN, priority:LEVEL, list:NAME, completed:true, tags:A,B for all tags, +tag to add and -tag
            to remove one; every:WHEN for a recurrence such as 3d, 2w, mon,thu, 15 or FREQ=…, or 'every!:WHEN' from the
            day of completion; remind:WHEN for reminders such as 30m, 2h or 1d before the due date, or 'fri 17:00', several
            with commas; remind:none for none, remind:default for one at the due time; due:none, every:none and
            priority:none remove the value. = may be used instead of the
            colon. Any other FIELD=VALUE sets a custom field to that text, quoted in the file if YAML requires it, and
            FIELD= removes it.

                ferry set milk due:tomorrow +urgent -someday
                ferry set milk 'title:Buy oat milk'
            """,
        arguments: [.task(), Argument("CHANGE", .any, summary: "what to change", takesDashes: true)],
        options: [
            Option("notes", value: "TEXT", summary: "replace the notes"),
            Option("stdin", summary: "replace the notes with standard input"), .json,
        ]
    ) { context in
        let changes = context.arguments.arguments("CHANGE")
        guard !changes.isEmpty || context.arguments.value("notes") != nil || context.arguments.has("stdin") else {
            throw UsageError("CHANGE is missing.", path: ["set"])
        }
        let parsed: TaskWords
        do throws(UsageError) { parsed = try TaskWords(changes: changes, due: context.due) } catch {
            throw UsageError(error.message, path: ["set"])
        }
        guard parsed.plain.isEmpty else {
            throw UsageError(
                "'\(parsed.plain[0])' is not a change; write title:TEXT for a new title, FIELD=VALUE for a custom field.",
                path: ["set"])
        }
        var change = parsed.change
        change.notes = context.arguments.value("notes")
        if context.arguments.has("stdin") { change.notes = try readStandardInput(limit: 1 << 20) }
        return try await context.change(change)
    }

    static let move = Command.daemon(
        "move", group: "Tasks", summary: "moves a task to another list",
        arguments: [
            .task(), Argument("LIST", summary: "a list, or inbox; created if new", completion: .program("lists")),
        ], options: [.json]
    ) { context in
        let list = context.arguments.argument("LIST") ?? ""
        let change = TaskChange(list: list.lowercased() == "inbox" ? "" : list)
        return try await context.change(change)
    }
}

import CommandLineTool
import Control

extension Command {
    static let set = Command.daemon(
        "set", group: "Tasks", summary: "changes fields of a task",
        discussion: """
            title:TEXT, due:WHEN, priority:LEVEL, +tag to add and -tag to remove a tag; FIELD=VALUE sets a custom field and
            FIELD= removes it. due:none and priority:none remove.

                ferry set milk due:tomorrow +urgent -someday
                ferry set milk 'title:Buy oat milk'
            """,
        arguments: [.task(), Argument("CHANGE", .any, summary: "what to change", takesDashes: true)],
        options: [
            Option("notes", value: "TEXT", summary: "replace the notes"),
            Option("stdin", summary: "replace the notes by standard input"), .json,
        ]
    ) { context in
        let changes = context.arguments.arguments("CHANGE")
        guard !changes.isEmpty || context.arguments.value("notes") != nil || context.arguments.has("stdin") else {
            throw UsageError("CHANGE is missing.", path: ["set"])
        }
        var custom: [String: String] = [:]
        var words: [String] = []
        for word in changes {
            if let equals = word.firstIndex(of: "="), equals > word.startIndex {
                custom[String(word[..<equals])] = String(word[word.index(after: equals)...])
            } else {
                words.append(word)
            }
        }
        let parsed = try TaskWords(words, due: context.due, removesTags: true)
        guard parsed.plain.isEmpty else {
            throw UsageError("'\(parsed.plain[0])' is no change; write title:TEXT for a new title.", path: ["set"])
        }
        var change = parsed.change
        change.fields = custom
        change.notes = context.arguments.value("notes")
        if context.arguments.has("stdin") { change.notes = try readStandardInput(limit: 1 << 20) }
        return try await context.change([context.arguments.argument("TASK") ?? ""], change)
    }

    static let move = Command.daemon(
        "move", group: "Tasks", summary: "moves a task to another list",
        arguments: [
            .task(), Argument("LIST", summary: "the list's name, or inbox; made if new", completion: .program("lists")),
        ], options: [.json]
    ) { context in
        let list = context.arguments.argument("LIST") ?? ""
        let change = TaskChange(list: list.lowercased() == "inbox" ? "" : list)
        return try await context.change([context.arguments.argument("TASK") ?? ""], change)
    }
}

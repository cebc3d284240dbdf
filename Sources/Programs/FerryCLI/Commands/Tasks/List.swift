import CivilTime
import CommandLineTool
import Control
import JSON

extension Command {
    static let list = Command.daemon(
        "list", group: "Tasks", summary: "lists tasks that match",
        discussion: """
            Words must occur in the title, a tag or the list's name. text:WORD must occur in the title or the notes.
            +tag, due:WHEN (today, week, overdue, none, a date) and priority:LEVEL restrict the list further; sort:due,
            sort:priority or sort:title orders it, and --group shows it in parts on a terminal, and in their order
            elsewhere. Completed tasks are left out unless --all or --done is given.
            """,
        arguments: [
            Argument("WORD", .any, summary: "words, text:WORD, +tag, due:WHEN, priority:LEVEL, list:NAME, sort:KEY")
        ],
        options: [
            Option("list", short: "l", value: "NAME", summary: "only this list", completion: .program("lists")),
            Option("all", short: "a", summary: "completed tasks too"), Option("done", summary: "only completed tasks"),
            Option(
                "group", short: "g", value: "KEY", summary: "by list, due, priority or tag",
                completion: .words(TaskGroups.Key.allCases.map(\.rawValue))),
            .json,
            Option("ndjson", summary: "print one JSON document per line"),
        ]
    ) { context in
        let filter = try FilterWords(arguments: context.arguments, due: context.due).filter()
        let group = try context.arguments.value("group").map(TaskGroups.key)
        let tasks = try await context.service.tasks(filter)
        if context.wantsJSON {
            context.terminal.print(String(decoding: try await tasks.bytes(), as: UTF8.self))
        } else if context.arguments.has("ndjson") {
            context.terminal.print(lines: try await tasks.summaries().map(\.json.text))
        } else {
            let tasks = try await tasks.summaries()
            if let group {
                TaskGroups(tasks, by: group, today: context.due.today).print(on: context.terminal)
            } else {
                TaskTable(terminal: context.terminal).print(tasks, showsList: filter.list == nil)
            }
            if tasks.isEmpty { try await context.noteNoTasks(filter) }
        }
        return .success
    }
}

extension CommandContext {
    /// Says why a list of tasks is empty.
    fileprivate func noteNoTasks(_ filter: TaskFilter) async throws {
        if try await service.status().taskCount == 0 {
            terminal.note("There are no tasks yet. 'ferry add Buy milk' adds one.")
        } else if filter.words.isEmpty, filter.texts.isEmpty, filter.tags.isEmpty, filter.due == nil,
            filter.list == nil,
            filter.priorities.isEmpty
        {
            terminal.note(
                filter.isCompleted == true
                    ? "No task is completed." : "All tasks are done. 'ferry list --all' shows them.")
        } else {
            terminal.note("No task matches.")
        }
    }
}

/// The parser of the words of `list`.
private struct FilterWords {
    let arguments: ParsedArguments
    let due: DueWords

    /// Returns the filter that the arguments describe.
    func filter() throws -> TaskFilter {
        var filter = TaskFilter(today: due.today.description)
        for word in arguments.arguments("WORD") {
            if word.hasPrefix("+"), word.count > 1 {
                filter.tags.append(String(word.dropFirst()))
            } else if word.hasSuffix(":") {
                filter.words.append(word)
            } else if word.lowercased().hasPrefix("text:") {
                filter.texts.append(String(word.dropFirst(5)))
            } else if word.lowercased().hasPrefix("due:") {
                let when = String(word.dropFirst(4)).lowercased()
                filter.due = ["today", "week", "overdue", "none"].contains(when) ? when : due.resolve(when)
            } else if word.lowercased().hasPrefix("priority:") {
                for level in word.lowercased().dropFirst(9).split(separator: ",") {
                    guard let priority = TaskSummary.Priority(rawValue: String(level)) else {
                        throw UsageError(
                            "There is no priority '\(level)'; use high, medium, low or none.", path: ["list"])
                    }
                    filter.priorities.append(priority)
                }
            } else if word.lowercased().hasPrefix("sort:") {
                filter.sort = word.lowercased().dropFirst(5).description
            } else if word.lowercased().hasPrefix("list:") {
                filter.list = String(word.dropFirst(5))
            } else {
                filter.words.append(word)
            }
        }
        if let list = arguments.value("list") { filter.list = list }
        if filter.list?.lowercased() == "inbox" { filter.list = "" }
        filter.isCompleted = arguments.has("done") ? true : arguments.has("all") ? nil : false
        return filter
    }
}

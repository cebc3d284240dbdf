import CommandLineTool
import Control
import JSON

extension Command {
    static let show = Command.daemon(
        "show", group: "Tasks", summary: "shows a task with notes and attachments", arguments: [.task()],
        options: [.json]
    ) { context in
        let task = try await context.service.task(try await context.task())
        if context.wantsJSON {
            context.terminal.print(task.json.text)
        } else {
            context.show(task)
        }
        return .success
    }
}

extension CommandContext {
    fileprivate func show(_ task: TaskDetail) {
        let summary = task.summary
        let title = terminal.folded(
            "\(summary.isCompleted ? "[x]" : "[ ]") \(terminal.shown(summary.title))", indent: 4)
        terminal.print(lines: title.map { terminal.styled($0, .bold) })
        var rows: [(label: String, value: String)] = [
            ("id", summary.id), ("list", summary.list.isEmpty ? "Inbox" : summary.list),
        ]
        if let path = summary.path { rows.append(("file", path)) }
        if summary.priority != .none { rows.append(("priority", summary.priority.rawValue)) }
        if let due = summary.due { rows.append(("due", due)) }
        if !summary.tags.isEmpty { rows.append(("tags", summary.tags.joined(separator: ", "))) }
        if let checklist = summary.checklist { rows.append(("checklist", checklist.text)) }
        if let time = task.completedTime { rows.append(("completed", MomentWords.text(time))) }
        if let time = task.createdTime { rows.append(("created", MomentWords.text(time))) }
        if let time = task.updatedTime { rows.append(("updated", MomentWords.text(time))) }
        rows.append(("sync", summary.sync.rawValue))
        rows += task.fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        for attachment in task.attachments {
            rows.append(("📎", "\(attachment.name)  \(formatted(bytes: attachment.size))  \(attachment.state.rawValue)"))
        }
        if task.isPinned { rows.append(("pinned", "attachments are kept on this machine")) }
        rows += task.remarks.map { ("note", $0) }
        terminal.print(lines: terminal.labeled(rows))
        guard !task.notes.isEmpty else { return }
        terminal.print("")
        var notes = task.notes.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        if notes.last == "" { notes.removeLast() }
        terminal.print(lines: notes.flatMap { terminal.folded(terminal.shown(String($0))) })
    }
}

import Control

/// How lists of tasks are shown: aligned on a terminal, tab-separated lines without control codes elsewhere.
struct TaskTable {
    let terminal: Terminal

    /// Columns: short id, box, priority, title, due, tags, attachments, sync mark.
    func print(_ tasks: [TaskSummary], showsList: Bool) {
        let length = shortIDLength(tasks.map(\.id))
        guard terminal.isInteractive else {
            terminal.print(
                lines: tasks.lazy.map { task in
                    var line = ""
                    forEachCell(task, length, showsList: showsList) { column, cell in
                        if column > 0 { line += "\t" }
                        line += terminal.usesColor ? style(column, cell) : cell
                    }
                    return line
                })
            return
        }
        var table = Table()
        for task in tasks {
            var cells: [String] = []
            forEachCell(task, length, showsList: showsList) { cells.append($1) }
            table.add(cells)
        }
        terminal.print(lines: table.lines(width: terminal.width, style: style))
    }

    private func forEachCell(
        _ task: TaskSummary, _ length: Int, showsList: Bool, _ body: (_ column: Int, _ cell: String) -> Void
    ) {
        body(0, String(decoding: task.id.utf8.prefix(length), as: UTF8.self).printable)
        body(1, task.isCompleted ? "[x]" : "[ ]")
        body(2, task.priority == .none ? "" : task.priority.rawValue)
        body(3, showsList && !task.list.isEmpty ? "\(task.list)/\(task.title)".printable : task.title.printable)
        body(4, task.due?.printable ?? "")
        var tags = ""
        for tag in task.tags {
            tags += tags.isEmpty ? "+" : " +"
            tags += tag
        }
        body(5, tags.printable)
        body(6, task.attachmentCount == 0 ? "" : "📎\(task.attachmentCount)")
        body(7, mark(task.sync))
    }

    private func mark(_ sync: TaskSummary.Sync) -> String {
        switch sync {
        case .synced: ""
        case .pending: "↑ pending"
        case .conflict: "! conflict"
        case .problem: "! problem"
        case .unknown: "?"
        }
    }

    private func style(_ column: Int, _ cell: String) -> String {
        switch column {
        case 0, 5: terminal.styled(cell, .faint)
        case 2: cell == "high" ? terminal.styled(cell, .red) : cell
        case 7: terminal.styled(cell, cell.hasPrefix("!") ? .red : .yellow)
        default: cell
        }
    }
}

/// The shortest length, four at least, at which all ids differ.
func shortIDLength(_ ids: [String]) -> Int {
    var length = 4
    // As numbers first: almost always the ids differ within eight bytes.
    let beginnings = ids.map { $0.utf8.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }.sorted()
    for (left, right) in zip(beginnings, beginnings.dropFirst()) where left != right {
        length = max(length, (left ^ right).leadingZeroBitCount / 8 + 1)
    }
    guard zip(beginnings, beginnings.dropFirst()).contains(where: { $0 == $1 }) else { return length }
    let sorted = ids.sorted()
    for (left, right) in zip(sorted, sorted.dropFirst()) where left != right {
        let common = zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
        length = max(length, common + 1)
    }
    return length
}

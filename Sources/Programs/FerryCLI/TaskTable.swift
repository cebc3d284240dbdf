import Control

/// The output format of lists of tasks: aligned on a terminal, and elsewhere lines with tabs and
/// without control codes.
struct TaskTable {
    let terminal: Terminal

    /// Columns: short id, box, priority, title, due, tags, attachments, sync mark, and for tasks with
    /// a checklist its progress. On a terminal the progress and the tags follow the title, which alone
    /// is shortened to fit. Below 80 columns a title is shown without its list, and the sync mark as
    /// its sign. A due time is that on the clocks here on a terminal, and elsewhere as it is written.
    func print(_ tasks: [TaskSummary], showsList: Bool) {
        let length = shortIDLength(tasks.map(\.id))
        guard terminal.isInteractive else {
            terminal.print(
                lines: tasks.lazy.map { task in
                    cells(task, length, showsList: showsList).enumerated().map { column, cell in
                        terminal.usesColor ? style(column, cell.printable) : cell.printable
                    }.joined(separator: "\t")
                })
            return
        }
        let isNarrow = terminal.width.map { $0 < 80 } ?? false
        var table = Table(flexible: [3], droppable: [2, 6])
        for task in tasks {
            var cells = cells(task, length, showsList: showsList && !isNarrow).prefix(8).map { Table.Cell(text: $0) }
            let tail = [task.checklist?.text ?? "", cells[5].text].filter { !$0.isEmpty }
            (cells[3].tail, cells[5].text) = (tail.joined(separator: " "), "")
            if isNarrow {
                if task.priority == .medium { cells[2].text = "med" }
                cells[7].text = String(cells[7].text.prefix(1))
            }
            table.add(cells)
        }
        terminal.print(lines: table.lines(terminal.format, style: style))
    }

    private func cells(_ task: TaskSummary, _ length: Int, showsList: Bool) -> [String] {
        [
            String(decoding: task.id.utf8.prefix(length), as: UTF8.self),
            task.isCompleted ? "[x]" : "[ ]",
            task.priority == .none ? "" : task.priority.rawValue,
            showsList && !task.list.isEmpty ? "\(task.list)/\(task.title)" : task.title,
            (terminal.isInteractive ? task.localDue : nil) ?? task.due ?? "",
            task.tags.map { "+\($0)" }.joined(separator: " "),
            task.attachmentCount == 0 ? "" : "📎\(task.attachmentCount)",
            mark(task.sync),
        ] + [task.checklist?.text].compactMap(\.self)
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
        case 0, 5, Table.tail: terminal.styled(cell, .faint)
        case 2: cell == "high" ? terminal.styled(cell, .red) : cell
        case 7: terminal.styled(cell, cell.hasPrefix("!") ? .red : .yellow)
        default: cell
        }
    }
}

extension TaskSummary.Checklist {
    /// The progress, such as `2/5`.
    var text: String { "\(doneCount)/\(count)" }
}

/// Returns the shortest length, at least 4, at which all ids differ.
func shortIDLength(_ ids: [String]) -> Int {
    var length = 4
    // Compare the first eight bytes as numbers first, because almost all ids differ in them.
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

/// A template or backup of Todoist, as a table with a row for each task.
///
/// Todoist writes a task's comments in rows after it, and a section in a row before its tasks. Here
/// comments follow the description, and the section is a column. Priority 1 is the highest.
struct TodoistTable {
    /// The rows, as many as those read. A row whose values have gone into others has none.
    private(set) var rows: [[String]]
    /// The reasons why rows are left out, by their indices.
    private(set) var problems: [Int: String] = [:]

    private static let priorities = ["1": "high", "2": "medium", "3": "low", "4": ""]

    /// Creates the table from rows; nil if their header is not one of Todoist's.
    init?(_ rows: [[String]]) {
        guard let header = rows.first?.map({ $0.uppercased() }) else { return nil }
        guard ["TYPE", "CONTENT", "PRIORITY"].allSatisfy(header.contains) else { return nil }
        // These columns come first, and what a row lacks is empty.
        let read = ["CONTENT", "PRIORITY", "DATE", "DEADLINE", "DESCRIPTION"]
        let others = (rows.first ?? []).filter { !read.contains($0.uppercased()) && $0.uppercased() != "TYPE" }
        self.rows = [["content", "priority", "due", "scheduled", "description", "section"] + others]
        var section = ""
        var task: Int?
        for (index, row) in rows.enumerated().dropFirst() {
            self.rows.append([])
            guard row.contains(where: { !$0.isEmpty }) else { continue }
            guard row.count <= header.count else {
                leaveOut(index, row, "It has more values than the header has columns.")
                continue
            }
            let values = Dictionary(zip(header, row), uniquingKeysWith: { first, _ in first })
            func value(_ name: String) -> String { values[name] ?? "" }
            switch value("TYPE").lowercased() {
            case "task", "":
                let (date, deadline) = (value("DATE"), value("DEADLINE"))
                let priority = Self.priorities[value("PRIORITY")] ?? value("PRIORITY")
                self.rows[index] =
                    [value("CONTENT"), priority] + (deadline.isEmpty ? [date, ""] : [deadline, date])
                    + [value("DESCRIPTION"), section] + others.map { value($0.uppercased()) }
                task = index
            case "section": (section, task) = (value("CONTENT"), nil)
            case "note":
                guard let task else {
                    leaveOut(index, row, "It is a comment without a task.")
                    continue
                }
                let isBegun = !self.rows[task][4].isEmpty && !self.rows[task][4].hasSuffix("\n")
                self.rows[task][4] += (isBegun ? "\n" : "") + value("CONTENT")
            case let kind: leaveOut(index, row, "It is a \(kind), not a task.")
            }
        }
    }

    private mutating func leaveOut(_ index: Int, _ row: [String], _ problem: String) {
        rows[index] = row
        problems[index] = problem
    }
}

import Control
import JSON

/// What became of each record and file of an import: taken, taken with changes, there already, or left out.
struct ImportResult {
    let isTrial: Bool
    /// Titles or paths, those that were changed among them.
    var imported: [String] = []
    /// What is otherwise than in the source, and how.
    var changed: [(name: String, changes: [String])] = []
    var alreadyThere: [String] = []
    var leftOut: [(name: String, reason: String)] = []
    /// Hidden files and directories, which no import looks at.
    var hidden = 0

    init(isTrial: Bool) { self.isTrial = isTrial }

    mutating func take(_ name: String, _ changes: [String]) {
        imported.append(name)
        if !changes.isEmpty { changed.append((name, changes)) }
    }

    /// One sentence for people.
    var summary: String {
        var parts = ["\(Count(imported.count, "task")) \(isTrial ? "would be imported" : "imported")"]
        if !changed.isEmpty { parts.append("\(changed.count) of them changed") }
        if !alreadyThere.isEmpty { parts.append("\(alreadyThere.count) there already") }
        if !leftOut.isEmpty { parts.append("\(leftOut.count) left out") }
        if hidden > 0 { parts.append("\(hidden) hidden not looked at") }
        return parts.joined(separator: ", ") + "."
    }

    var members: [(String, JSON)] {
        [
            ("imported", .array(imported.map { .string($0) })),
            (
                "changed",
                .array(changed.map { ["name": .string($0.name), "changes": .array($0.changes.map { .string($0) })] })
            ),
            ("alreadyThere", .array(alreadyThere.map { .string($0) })),
            ("failed", .array(leftOut.map { ["name": .string($0.name), "reason": .string($0.reason)] })),
            ("hidden", .integer(Int64(hidden))), ("dryRun", .boolean(isTrial)),
        ]
    }
}

/// A task as a source has it.
struct ImportRecord {
    /// For people: its title, path or line.
    var name: String
    var change: TaskChange
    /// What the source says otherwise, one sentence each.
    var changes: [String] = []
    /// Its id in the source, if it has one.
    var id: String?
    /// What it is called in the source, also when it is imported again.
    var key: String
}

/// Why a record is left out.
struct RecordProblem: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

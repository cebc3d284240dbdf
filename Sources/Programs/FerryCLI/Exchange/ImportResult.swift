import Control
import JSON

/// The result of an import for each record and file: imported, imported with changes, already
/// present, or left out.
struct ImportResult {
    let isTrial: Bool
    /// The titles or paths of imported records, including those that were changed.
    var imported: [String] = []
    /// The differences from the source.
    var changed: [(name: String, changes: [String])] = []
    var alreadyThere: [String] = []
    var leftOut: [(name: String, reason: String)] = []
    /// The number of hidden files and directories, which imports ignore.
    var hidden = 0

    init(isTrial: Bool) { self.isTrial = isTrial }

    mutating func take(_ name: String, _ changes: [String]) {
        imported.append(name)
        if !changes.isEmpty { changed.append((name, changes)) }
    }

    /// The result in one sentence.
    var summary: String {
        var parts = ["\(Count(imported.count, "task")) \(isTrial ? "would be imported" : "imported")"]
        if !changed.isEmpty { parts.append("\(changed.count) of them changed") }
        if !alreadyThere.isEmpty { parts.append("\(alreadyThere.count) there already") }
        if !leftOut.isEmpty { parts.append("\(leftOut.count) left out") }
        if hidden > 0 { parts.append("\(hidden) hidden ignored") }
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

/// A task read from a source.
struct ImportRecord {
    /// The title, path or line, for messages.
    var name: String
    var change: TaskChange
    /// The differences from the source, one sentence each.
    var changes: [String] = []
    /// The id in the source, if it has one.
    var id: String?
    /// The key of the record in the source, which is the same when it is imported again.
    var key: String
}

/// The reason why a record is left out.
struct RecordProblem: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

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
    /// The number of lines that are not tasks, in a text that also has others.
    var otherLines = 0

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
        if otherLines > 0 { parts.append("\(Count(otherLines, "other line")) ignored") }
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
            ("hidden", .integer(Int64(hidden))), ("otherLines", .integer(Int64(otherLines))),
            ("dryRun", .boolean(isTrial)),
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

/// The finding at one place of a source.
struct FoundRecord {
    /// The title or place, for messages.
    var name: String
    var record: Result<ImportRecord, RecordProblem>
    /// The text of the record, from which its key is made if it has no id.
    var source: String

    init(_ name: String, _ record: Result<ImportRecord, RecordProblem>, source: String? = nil) {
        self.name = name
        self.record = record
        self.source = source ?? name
    }
}

/// The reason why a record is left out.
struct RecordProblem: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

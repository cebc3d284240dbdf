/// A change of one side since the state on which both last agreed.
package enum Change: String, Hashable, Sendable, CaseIterable {
    /// The side states what was agreed on; or nothing, and nothing was agreed on.
    case unchanged
    /// The side states something else, or something new.
    case changed
    /// The side has nothing any more.
    case absent
    /// The side could not be looked at.
    case unknown
}

/// The decision about a node.
package enum Resolution: String, Hashable, Sendable, CaseIterable {
    /// Nothing. The node is at rest, apart from the number in its file's name.
    case none
    /// The file becomes what the document says.
    case exportFile
    /// The document becomes what the file says.
    case importFile
    /// Both become what a merge of the two with their base says.
    case merge
    /// The file goes to the local trash.
    case trashFile
    /// The document goes to the trash.
    case trashDocument
    /// The edited document gets its file back.
    case restoreFile
    /// The edited file gets its document back.
    case restoreDocument
    /// The state that was agreed on is forgotten.
    case forget
    /// Nothing until the unknown side is known.
    case wait
}

/// The decision for every pair of changes.
///
/// Three rules explain all sixteen cells. An edit survives a delete, whichever came first. If both
/// sides changed, they are merged. Nothing is concluded from the unknown.
package enum ReconciliationTable {
    /// Returns what happens to a node, by the change of its file and that of its document.
    package static func resolution(local: Change, remote: Change) -> Resolution {
        switch (local, remote) {
        // The file is as it was.
        case (.unchanged, .unchanged): .none
        case (.unchanged, .changed): .exportFile
        case (.unchanged, .absent): .trashFile
        case (.unchanged, .unknown): .wait
        // The user created, edited, renamed, or moved the file.
        case (.changed, .unchanged): .importFile
        case (.changed, .changed): .merge
        case (.changed, .absent): .restoreDocument
        case (.changed, .unknown): .wait
        // The user removed the file.
        case (.absent, .unchanged): .trashDocument
        case (.absent, .changed): .restoreFile
        case (.absent, .absent): .forget
        case (.absent, .unknown): .wait
        // The file cannot be looked at.
        case (.unknown, .unchanged): .wait
        case (.unknown, .changed): .wait
        case (.unknown, .absent): .wait
        case (.unknown, .unknown): .wait
        }
    }

    /// The table in Markdown, as it stands in `Sources/Documentation/reconciliation.md`.
    package static var markdown: String {
        let head = "| file ╲ document |" + Change.allCases.map { " \($0.rawValue) |" }.joined()
        let rule = "|---|" + Change.allCases.map { _ in "---|" }.joined()
        let rows = Change.allCases.map { local in
            "| \(local.rawValue) |"
                + Change.allCases.map { " `\(resolution(local: local, remote: $0).rawValue)` |" }.joined()
        }
        return ([head, rule] + rows).joined(separator: "\n")
    }
}

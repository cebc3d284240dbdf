/// The evidence that a file is the file of a known task, strongest first.
///
/// This order is the whole of the decision. Each kind of evidence is tried for every file of a batch
/// before the next kind is, and a file and a task that were matched are not considered again. A swap
/// of two names is therefore recognized before either file counts as an edit of the other task, in
/// whatever order the two were reported.
package enum Evidence: Int, Hashable, Sendable, CaseIterable {
    case sameVersion
    case sameFileInPlace
    case markedFile
    case unchangedFile
    case mark
    case fileNumber
    case place
    case returned
    case contents
    case nameAndLine
    case document

    /// The observed facts.
    package var facts: String {
        switch self {
        case .sameVersion: "The known path, with the known stamp."
        case .sameFileInPlace: "The known path and file number; `user.ferry.id` names no other task."
        case .markedFile: "The known file number, and `user.ferry.id` names the task."
        case .unchangedFile: "The known file number, size, and time of modification; no other `user.ferry.id`."
        case .mark: "`user.ferry.id` names the task."
        case .fileNumber: "The known file number, on a file system that keeps no attributes."
        case .place: "The known path."
        case .returned: "The path of a task that was deleted here in the last five minutes."
        case .contents: "The contents of a missing file."
        case .nameAndLine: "The name of one missing file elsewhere, and a line of its notes."
        case .document: "The path and the contents of a document that has no file here."
        }
    }

    /// The situation that leaves this evidence.
    package var situation: String {
        switch self {
        case .sameVersion: "Nothing happened."
        case .sameFileInPlace: "An editor wrote into the file."
        case .markedFile: "The file was renamed or moved, and perhaps edited."
        case .unchangedFile: "The same, where attributes are not kept."
        case .mark: "The file was moved from another file system or restored with its attributes."
        case .fileNumber: "The file was renamed and edited, as on FAT."
        case .place: "An editor saved by a rename, or `git switch` replaced the file."
        case .returned: "A program deletes the file, and writes it again after a while."
        case .contents: "The file was moved by a copy and a delete."
        case .nameAndLine: "The same, and it was edited since."
        case .document: "The state was lost, or two machines made the same file."
        }
    }

    /// Whether the evidence is enough if the known path cannot be looked at, or has a file that could be
    /// the task's next version. The numbered file itself is not at two paths.
    var standsWithoutLook: Bool { self == .markedFile || self == .unchangedFile }

    /// The table in Markdown, as it stands in `Sources/Documentation/reconciliation.md`.
    package static var markdown: String {
        let rows = allCases.map { "| \($0.rawValue + 1) | `\($0)` | \($0.facts) | \($0.situation) |" }
        return (["| | evidence | facts | for example |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}

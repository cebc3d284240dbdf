/// What a walk through the whole tree found, besides the files themselves.
package struct FolderScan: Sendable {
    /// The root when the walk began.
    package var root: RootState
    /// The directories that hold tasks, without the root.
    package var lists: [TaskPath] = []
    /// The directories `X.files`.
    package var attachments: [TaskPath] = []
    /// The first thousand of them.
    package var problems: [FolderProblem] = []
    package var problemCount = 0
    /// Directories whose content could not be seen; nothing beneath them is known.
    package var unreadable: [TaskPath] = []
    package var fileCount = 0
    /// False where the root was another one at the end than at the beginning: then nothing that is absent counts.
    package var isSameRoot = true
    /// Whether each directory is watched; otherwise changes show only in the next scan.
    package var isWatched = false

    /// Whether every directory was seen. Otherwise a file that was not found may be where nobody could look.
    package var isComplete: Bool { isSameRoot && unreadable.isEmpty }
}

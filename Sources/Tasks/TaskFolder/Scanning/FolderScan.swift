package import SystemIO

/// What a walk through the whole tree is for.
package enum ScanPurpose: Sendable {
    /// To see what is there, of a part of which the caller has need: watches stay as they are.
    case look
    /// To take over every file that is not known as it is: each directory is watched before it is
    /// listed, so that nothing is missed between this scan and the events. A directory that only
    /// now gets its watch may hold what no event told of.
    case watch
    /// As `watch`, and temporary files that a crash left go to `.ferry/recovered`: such a file may
    /// be the user's own, displaced and not yet checked, so it is not deleted. Only where nobody
    /// writes meanwhile, that is in the first scan.
    case begin
}

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
    /// Those of them that the system does not let this user list, with the times at which something
    /// last moved into or out of them, or their modes changed.
    package var unlisted: [TaskPath: FileTime] = [:]
    package var fileCount = 0
    /// False where the root was another one at the end than at the beginning: then nothing that is absent counts.
    package var isSameRoot = true
    /// Whether each directory is watched by this scan; otherwise changes show only in the next one.
    package var isWatched = false

    /// Whether every directory was seen.
    package var isComplete: Bool { isSameRoot && unreadable.isEmpty }

    /// Whether the scan would have found a file with this path: the root stayed the same, and each directory above the
    /// file could be read.
    package func sees(_ path: TaskPath) -> Bool { isSameRoot && !unreadable.contains(where: path.isBeneath) }
}

package import SystemIO

/// The purpose of a scan of the whole tree.
package enum ScanPurpose: Sendable {
    /// A scan to examine a part of the tree that the caller needs. Watches stay unchanged.
    case look
    /// A scan to process every file that differs from its known state. Each directory is watched
    /// before it is listed, so that nothing is missed between this scan and the events. A directory
    /// that is watched for the first time may contain changes without events.
    ///
    /// Temporary files that a crash left, or a directory that was renamed during a write, are moved
    /// to `.ferry/recovered`. Such a file may be the user's own, displaced and not yet checked, so it
    /// is not deleted. Use this purpose only while nothing else is written.
    case watch
}

/// The results of a scan of the whole tree, besides the files themselves.
package struct FolderScan: Sendable {
    /// The root when the scan started.
    package var root: RootState
    /// The directories that contain tasks, without the root.
    package var lists: [TaskPath] = []
    /// The directories `X.files`.
    package var attachments: [TaskPath] = []
    /// The first thousand problems.
    package var problems: [FolderProblem] = []
    package var problemCount = 0
    /// The directories that could not be listed. Nothing below them is known.
    package var unreadable: [TaskPath] = []
    /// The unreadable directories that this user may not list, with the times at which an entry was
    /// last moved into or out of them, or their modes changed.
    package var unlisted: [TaskPath: FileTime] = [:]
    package var fileCount = 0
    /// Whether the root was the same at the end as at the start. If not, absent files mean nothing.
    package var isSameRoot = true
    /// Whether this scan watches each directory. Otherwise changes are found only by the next one.
    package var isWatched = false

    /// Whether every directory was listed.
    package var isComplete: Bool { isSameRoot && unreadable.isEmpty }

    /// Whether the scan would have found a file with this path: the root stayed the same, and each
    /// directory above the file could be read.
    package func sees(_ path: TaskPath) -> Bool { isSameRoot && !unreadable.contains(where: path.isBeneath) }
}

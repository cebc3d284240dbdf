/// A change in the tree as it was seen, before it has settled. A hint where to look, not a fact:
/// whoever acts on it looks at the file first.
package enum FolderEvent: Hashable, Sendable {
    // MARK: Task files and attachments

    /// A new name, whose content is probably still being written.
    case created(TaskPath)
    /// Seen in a directory that is new itself.
    case found(TaskPath)
    /// Content changed, the writer goes on.
    case written(TaskPath)
    /// A writer is done.
    case closed(TaskPath)
    /// Mode, owner, times or extended attributes changed.
    case attributes(TaskPath)
    case removed(TaskPath)
    /// One half of a rename; the other has the same cookie, comes soon after, or not at all where the file left the
    /// tree or took an ignored name.
    case movedFrom(TaskPath, cookie: UInt32)
    /// Also to a name that is ignored, of which nothing else is told.
    case movedTo(TaskPath, cookie: UInt32)

    // MARK: Directories

    /// A list or attachments directory is there; what is in it follows as `found`.
    case directoryAppeared(TaskPath)
    case directoryRemoved(TaskPath)
    /// Comes before any event beneath its new path.
    case directoryMoved(from: TaskPath, to: TaskPath)

    // MARK: The tree

    case problem(FolderProblem)
    /// Something was missed: scan.
    case rescanNeeded(RescanReason)
    /// The root itself was moved, removed or unmounted: look at `rootState`.
    case rootChanged
}

/// Why only a scan can tell what is there.
package enum RescanReason: String, Hashable, Sendable {
    /// The kernel's queue was full.
    case overflow
    /// More changed at once than is kept in memory.
    case tooManyChanges = "too many changes"
    /// Not all directories are watched.
    case notWatched = "not watched"
    /// A directory could not be listed when it appeared.
    case unreadable
}

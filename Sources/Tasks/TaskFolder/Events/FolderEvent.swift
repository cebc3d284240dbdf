/// A change in the tree before it is debounced. It is a hint where to look and not a fact: examine
/// the file before acting on it.
package enum FolderEvent: Hashable, Sendable {
    // MARK: Task files and attachments

    /// A new name, whose content is probably still being written.
    case created(TaskPath)
    /// A file in a directory that is itself new.
    case found(TaskPath)
    /// The content changed, and the writer continues.
    case written(TaskPath)
    /// A writer has closed the file.
    case closed(TaskPath)
    /// The mode, owner, times or extended attributes changed.
    case attributes(TaskPath)
    case removed(TaskPath)
    /// The first half of a rename. The second half has the same cookie and follows soon, or never
    /// if the file left the tree or got an ignored name.
    case movedFrom(TaskPath, cookie: UInt32)
    /// The second half of a rename. The new name may be an ignored one, for which there are no
    /// other events.
    case movedTo(TaskPath, cookie: UInt32)

    // MARK: Directories

    /// A list or attachments directory appeared. Its contents follow as `found`.
    case directoryAppeared(TaskPath)
    case directoryRemoved(TaskPath)
    /// A directory was renamed. This precedes any event below its new path.
    case directoryMoved(from: TaskPath, to: TaskPath)

    // MARK: The tree

    case problem(FolderProblem)
    /// Events were missed, so a scan is needed.
    case rescanNeeded(RescanReason)
    /// The root itself was moved, removed or unmounted; call `rootState`.
    case rootChanged
}

/// The reason why a scan is needed.
package enum RescanReason: String, Hashable, Sendable {
    /// The kernel's queue was full.
    case overflow
    /// More changes occurred at once than are kept in memory.
    case tooManyChanges = "too many changes"
    /// Not all directories are watched.
    case notWatched = "not watched"
    /// A directory could not be listed when it appeared.
    case unreadable
    /// A file system within the tree was unmounted.
    case unmounted
    /// Something that is no file, such as a link, is where a directory was.
    case replaced
}

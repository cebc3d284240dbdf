/// A change after it was debounced, with the state that the disk had a moment ago.
package enum DebouncedChange: Hashable, Sendable {
    /// A directory was renamed, so all paths below the old one are below the new one now. It
    /// precedes later changes below the directory.
    case directoryMoved(from: TaskPath, to: TaskPath)
    case directoryAppeared(TaskPath)
    /// A file has a new path, possibly with new content. The file that had the path before is
    /// replaced, unless `afterDelete`: then it had been deleted just before. Files that have swapped
    /// places are each reported as `changed`.
    case moved(from: TaskPath, to: TaskPath, FileStamp, afterDelete: Bool)
    /// A file exists, new or with new content or metadata. Compare the stamp with the known one.
    case changed(TaskPath, FileStamp)
    /// The path is taken by something that is not a regular file, or cannot be examined. This is
    /// not a delete, nor one of the file that was renamed from `origin` just before.
    case obstructed(TaskPath, origin: TaskPath?)
    /// A file was seen to be removed and did not come back under its name. It may be known under
    /// another path by now, so compare inodes. The path may be one that was never known.
    case removed(TaskPath)
    /// A file is gone through a rename to a place that is not watched, such as a desktop's trash or
    /// an unreadable directory, or without any event.
    case movedAway(TaskPath)
    case directoryRemoved(TaskPath)
    case problem(FolderProblem)
    case rescanNeeded(RescanReason)
    case rootChanged

    /// Whether the change only asks for a scan.
    var isScan: Bool { if case .rescanNeeded = self { true } else { false } }
}

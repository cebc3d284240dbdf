/// A change that has come to rest, as the disk told it a moment ago.
package enum DebouncedChange: Hashable, Sendable {
    /// A directory was renamed: all paths beneath the old one are beneath the new one now. Precedes
    /// what happened there.
    case directoryMoved(from: TaskPath, to: TaskPath)
    case directoryAppeared(TaskPath)
    /// A file took a new path, possibly with new content. What was at the new path before is replaced. Files that have
    /// changed places are told as `changed` each.
    case moved(from: TaskPath, to: TaskPath, FileStamp)
    /// A file is there, new or with new content or other metadata: compare the stamp with what is known.
    case changed(TaskPath, FileStamp)
    /// Something that is no regular file has taken the place, or it cannot be seen: not a delete.
    case obstructed(TaskPath)
    /// It was seen to go and did not come back under its name. Its file may be known under another path by now: compare
    /// inodes. Paths that were never known may appear here.
    case removed(TaskPath)
    /// As `removed`, by a rename to where nobody watches: out of the directory, as to a desktop's
    /// trash, or to a part of it that cannot be seen. Also where nobody saw it go.
    case movedAway(TaskPath)
    case directoryRemoved(TaskPath)
    case problem(FolderProblem)
    case rescanNeeded(RescanReason)
    case rootChanged

    /// Whether it asks for a scan and says nothing else.
    var isScan: Bool { if case .rescanNeeded = self { true } else { false } }
}

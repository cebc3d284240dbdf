import TaskFolder
import TaskModel

/// Follows task files to their new paths.
extension TaskSync {
    /// Records the new path of a known file, and moves its attachments there.
    ///
    /// - Parameter afterDelete: Whether a file was deleted at `to` just before.
    func moved(_ from: TaskPath, _ to: TaskPath, _ stamp: FileStamp, afterDelete: Bool) async throws {
        replacements[from] = nil
        guard let entry = index[from], from.kind(isDirectory: false) == .taskFile else { return }
        // The event of a move by Ferry itself. Its old name may have been given to another task
        // since.
        if let known = index[to], known.stamp.isFile(of: stamp) { return }
        guard entry.stamp.isFile(of: stamp) || (folder.isAbsent(from) && !isOther(stamp, at: to, than: entry.task))
        else { return }
        if let replaced = index[to], replaced.task != entry.task {
            // A program saved the file under another name first: it is the new text of the replaced
            // file's task.
            if folder.isFullyWatched, !afterDelete, isNewborn(entry.task, after: replaced.task),
                try await !isBehind(entry.task)
            {
                try await dissolve(entry.task)
                return take(to, stamp, for: replaced.task)
            }
            // The import finds out where the replaced file is.
            return
        }
        if to.kind(isDirectory: false) == .taskFile { moveAttachments(from: from, to: to) }
        // The row keeps the old path until the file is read; title and list follow from the
        // difference.
        index.set(to, FileIndex.Entry(task: entry.task, stamp: FileStamp(unknownContentOf: stamp)))
        movedFrom[to] = from
        retries.formUnion(misnamed)
    }

    /// Whether a file is the known one of another task, which has left a name that did not belong
    /// to it any more.
    func isOther(_ stamp: FileStamp, at path: TaskPath, than task: TaskID) -> Bool {
        guard let known = index.path(withInodeOf: stamp).flatMap({ index[$0] }), known.task != task else {
            return false
        }
        return known.stamp.hasContent(of: stamp) || folder.taskID(of: path) == known.task
    }
}

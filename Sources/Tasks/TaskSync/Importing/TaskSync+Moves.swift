import TaskFolder

/// Task files that have got other paths.
extension TaskSync {
    /// A known file has a new path; its attachments go with it.
    ///
    /// - Parameter afterDelete: Whether a file was deleted at `to` just before.
    func moved(_ from: TaskPath, _ to: TaskPath, _ stamp: FileStamp, afterDelete: Bool) async throws {
        guard let entry = index[from], from.kind(isDirectory: false) == .taskFile else { return }
        // The echo of a move of Ferry's own, after which the old name may have been given to another task.
        if let known = index[to], known.stamp.isFile(of: stamp) { return }
        guard entry.stamp.isFile(of: stamp) || (folder.isAbsent(from) && !isOther(stamp, at: to, than: entry.task))
        else { return }
        if let replaced = index[to], replaced.task != entry.task {
            // Where not all directories are watched, only a scan shows whether it has gone to
            // another: the import asks for it.
            guard folder.isFullyWatched else { return }
            // Saved under another name first: it is this one's new text.
            if !afterDelete, isNewborn(entry.task, after: replaced.task), try await !isBehind(entry.task) {
                try await dissolve(entry.task)
                return take(to, stamp, for: replaced.task)
            }
            try await forgetReplaced(replaced.task)
        }
        if to.kind(isDirectory: false) == .taskFile { moveAttachments(from: from, to: to) }
        // The row keeps its old path until the file was read there: then title and list follow from the difference.
        index.set(to, FileIndex.Entry(task: entry.task, stamp: FileStamp(unknownContentOf: stamp)))
        movedFrom[to] = from
        retries.formUnion(misnamed)
    }

    /// Whether a file is the known one of another task, to which the name that it left did not belong any more.
    func isOther(_ stamp: FileStamp, at path: TaskPath, than task: String) -> Bool {
        guard let known = index.path(withInodeOf: stamp).flatMap({ index[$0] }), known.task != task else {
            return false
        }
        return known.stamp.hasContent(of: stamp) || (try? folder.identifier(path)) == known.task
    }
}

import SystemService
import TaskFolder

/// Imports batches of changes of the directory, as the debouncer reports them.
extension TaskSync {
    /// Imports a batch of debounced changes.
    func importChanges(_ batch: [DebouncedChange]) async throws {
        guard rootHold == nil else { return }
        logger.debug("settled: \(batch.count), the first of them \(batch.prefix(3))")
        var files: [TaskPath] = []
        var settled: [TaskPath: FileStamp] = [:]
        var removed: [TaskPath] = []
        var movedAway: [TaskPath] = []
        for change in batch {
            switch change {
            case .changed(let path, let stamp):
                lookAgain(ifMovedWithItsDirectory: path)
                if path.kind(isDirectory: false) == .attachment {
                    await noteAttachment(path, stamp, isEvent: true)
                } else {
                    forgetDirectory(namedAs: path)
                    files.append(path)
                    settled[path] = stamp
                }
            case .moved(let from, let to, let stamp, let afterDelete):
                lookAgain(ifMovedWithItsDirectory: to)
                if to.kind(isDirectory: false) == .attachment {
                    await noteAttachment(to, stamp)
                    removed.append(from)
                } else {
                    forgetDirectory(namedAs: to)
                    // A problem of the file is found again at its new path.
                    problems[from.string] = nil
                    try await moved(from, to, stamp, afterDelete: afterDelete)
                    files.append(to)
                    settled[to] = stamp
                }
            case .removed(let path): removed.append(path)
            case .movedAway(let path): movedAway.append(path)
            case .directoryMoved(let from, let to): try await directoryMoved(from, to)
            case .directoryAppeared(let path):
                // The contents of the directory are reported next and checked again.
                forgetProblems(of: path)
                // A directory that Ferry created may have another name now.
                if path.kind(isDirectory: true) == .list, !isParentOnly(path), (try? folder.hasDirectory(path)) == true
                {
                    // It was renamed before it, or the directory that it left, was watched.
                    if let former = formerName(of: path) { try await directoryMoved(former, path) }
                    _ = try await list(at: path)
                }
                noteAbsent(beneath: path)
                // This comes first, because otherwise the user seems to have emptied the empty
                // files in there.
                if unexplored.contains(where: { $0.isBeneath(path) || path.isBeneath($0) }) {
                    try await rescan(isFirst: false)
                }
            case .directoryRemoved(let path): try await directoryRemoved(path)
            case .obstructed(let path, let origin):
                if let origin, index[origin] != nil, folder.isAbsent(origin) { outOfSight[origin] = path }
                switch path.kind(isDirectory: false) {
                case .taskFile: try? await importFiles([path])
                case .attachment: noteObstructed(attachment: path)
                default: break
                }
            case .problem(let problem): note(problem)
            case .rescanNeeded(let reason):
                logger.info("scanning again: \(reason.rawValue)")
                try await rescan(isFirst: false)
            case .rootChanged:
                guard try await checkRoot() else { return }
                try await rescan(isFirst: false)
            }
        }
        try await importFiles(files, settled: settled)
        await noteMovedAttachments()
        // If not all directories are watched, a file that left one may have moved to another. A
        // scan looks for it before it counts as deleted.
        if !folder.isFullyWatched, (removed + movedAway).contains(where: isKnown) { try await rescan(isFirst: false) }
        // The file may have moved to a place that cannot be read. Later, when it can, a scan finds
        // the file there or finds it missing.
        if !movedAway.isEmpty, !isHiding { removed += readable(movedAway) }
        if !removed.isEmpty { try await importRemovals(removed) }
        if batch.contains(where: { if case .directoryAppeared = $0 { true } else { false } }) {
            try await forgetMissingLists()
        }
    }

    /// Forgets the problem of a directory with the name of a task file: now a file is there.
    private func forgetDirectory(namedAs path: TaskPath) {
        folderProblems["\(Self.word(FolderProblem.Kind.directoryNamedAsTask)) \(path.string)"] = nil
    }

    private func isKnown(_ path: TaskPath) -> Bool {
        if path.kind(isDirectory: false) != .attachment { return index[path] != nil }
        return index[path.taskFileOfAttachments].map { attachments.row(of: $0.task, named: path.name) != nil } ?? false
    }

    func note(_ problem: FolderProblem) {
        note(folder: SyncProblem(code: Self.word(problem.kind), subject: problem.path, message: problem.message))
    }
}

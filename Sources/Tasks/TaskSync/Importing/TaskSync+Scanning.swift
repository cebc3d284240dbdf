import SystemService
import TaskFolder

/// Scans the directory when it is not known which files have changed.
extension TaskSync {
    /// Scans all files and imports those that have changed.
    func rescan(isFirst: Bool) async throws {
        // Of a hundred thousand files few have changed; the others are not kept.
        var changed: [TaskPath] = []
        var found: [ScannedFile] = []
        var emptied: [ScannedFile] = []
        var call = index.rollCall
        let racy = RacyStamps(newest: isFirst ? index.newestChange : nil)
        let absentBefore = absentSinceBinding()
        let sought = soughtFiles
        defer { soughtFiles.subtract(sought) }
        let scan: FolderScan
        do throws(FolderError) {
            let isCovered: CoverTest = { self.isCovered($0, $1, $2) }
            scan = try folder.scan(.watch, isCovered: isReadopted ? { _, _, _ in false } : isCovered) { file in
                if file.isAttachment { return found.append(file) }
                let known = index.entry(file.path, seenIn: &call)
                guard let known else {
                    if file.stamp.size == 0, isUnexplored(file.path) { emptied.append(file) }
                    return changed.append(file.path)
                }
                // If the file of a held delete is back, the delete is not wanted.
                if known.stamp == file.stamp, !racy.contains(file.stamp), held[known.task] == nil {
                    // The file could not be examined at an earlier scan and is in step.
                    if !problems.isEmpty { problems[file.path.string] = nil }
                    return
                }
                if file.stamp.size == 0, known.stamp.size > 0, isUnexplored(file.path) { return emptied.append(file) }
                changed.append(file.path)
            }
        } catch {
            if error.code == .rootMissing {
                // The directory is scanned when it is back, which it may be now.
                if try await checkRoot() { changes.askForScan() }
                return
            }
            note(folder: SyncProblem(code: "scan-failed", subject: nil, message: error.message))
            return
        }
        folderProblems = [:]
        for problem in scan.problems { note(problem) }
        guard scan.isSameRoot else {
            _ = try await checkRoot()
            return
        }
        unexplored = unexplored.flatMap { old in
            scan.unreadable.compactMap { $0.isBeneath(old) ? $0 : old.isBeneath($0) ? old : nil }
        }
        forgetProblemsOfAbsentFiles()
        changed += try await fillEmptied(emptied, beside: changed)
        try await noteBoot()
        for path in scan.lists.sorted() where !isParentOnly(path) {
            if let former = formerName(of: path, holding: changed) { try await directoryMoved(former, path) }
            _ = try await list(at: path)
        }
        try await markLists(at: scan.lists)
        // Files that existed a moment ago are not counted; events report what happened to them.
        let absent = Set(index.paths(notSeenIn: call)).subtracting(changed)
        let missed = absent.filter(scan.sees)
        let isComplete = missed.isEmpty && missingAttachments(scan, found: found.map(\.path)).isEmpty
        let isHiding = isHiding(in: scan)
        try await noteUnlisted(scan, isComplete: isComplete || !isHiding)
        missingInScan = isHiding || isReadopted && !scan.isComplete ? [] : missed
        attachments.removeOrphans()
        for file in found { await noteAttachment(file.path, file.stamp) }
        defer { missingInScan = [] }
        for start in stride(from: 0, to: changed.count, by: Self.batchSize) {
            let batch = changed[start..<min(start + Self.batchSize, changed.count)]
            try await importFiles(Array(batch), isScan: true, following: changed.count - batch.endIndex)
        }
        await noteMovedAttachments()
        let gone = missingInScan.filter { index[$0] != nil }
        let back = try await takeBackFromTrash(gone)
        try await forgetAbsentSinceBinding(absentBefore)
        let missing = gone.subtracting(back).filter { index[$0] != nil }
        if !missing.isEmpty { changes.noteMissing(missing.sorted()) }
        if !isHiding { try await forgetMissingLists() }
        noteMissingAttachments(scan, found: found.map(\.path))
    }

    /// Returns the former path of a directory that was renamed while it was not watched: that of a
    /// list's directory that is gone, and whose mark this one has or whose files are in it now.
    ///
    /// - Parameter files: The changed files that the scan found.
    func formerName(of directory: TaskPath, holding files: [TaskPath] = []) -> TaskPath? {
        guard !isReadopted, directory.kind(isDirectory: true) == .list, lists.id(directory) == nil else { return nil }
        let marked = ((try? folder.listMark(directory)) ?? nil).flatMap { lists.path(ofDirectoryMarked: $0) }
        if let marked, hasGone(marked) { return marked }
        guard !files.isEmpty, lists.paths.values.contains(where: hasGone) else { return nil }
        var former: Set<TaskPath> = []
        for file in files.lazy.filter({ $0.isBeneath(directory) }).prefix(20) {
            guard let stamp = (try? folder.stamp(file)) ?? nil, let known = knownPath(of: file, stamp),
                let place = known.counterpart(of: directory, above: file),
                lists.id(place) != nil, hasGone(place)
            else { continue }
            former.insert(place)
        }
        return former.count == 1 ? former.first : nil
    }

    /// Whether a directory no longer exists. A link to a directory counts as one.
    private func hasGone(_ directory: TaskPath) -> Bool { (try? folder.hasDirectory(directory)) == false }

    /// Returns the path of the known file that a file is by its identifier or its inode.
    private func knownPath(of file: TaskPath, _ stamp: FileStamp) -> TaskPath? {
        if let task = folder.taskID(of: file) { return index.path(of: task) }
        guard let known = index.path(withInodeOf: stamp), index[known]?.stamp.hasContent(of: stamp) == true else {
            return nil
        }
        return known
    }

    private func isUnexplored(_ path: TaskPath) -> Bool { unexplored.contains(where: path.isBeneath) }
}

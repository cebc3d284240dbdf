import SystemService
import TaskFolder

/// Looking at all files, where nobody was told what has changed.
extension TaskSync {
    /// Looks at every file and takes over what differs from what is known.
    func rescan(isFirst: Bool) async throws {
        // Of a hundred thousand files hardly one is news; the others are not kept.
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
            scan = try folder.scan(.watch) { file in
                if file.isAttachment { return found.append(file) }
                let known = index.entry(file.path, seenIn: &call)
                guard let known else {
                    if file.stamp.size == 0, isUnexplored(file.path) { emptied.append(file) }
                    return changed.append(file.path)
                }
                // One that is back from a held delete says that nobody wants that.
                if known.stamp == file.stamp, !racy.contains(file.stamp), held[known.task] == nil {
                    // It could not be looked at once, and was in step.
                    if !problems.isEmpty { problems[file.path.string] = nil }
                    return
                }
                if file.stamp.size == 0, known.stamp.size > 0, isUnexplored(file.path) { return emptied.append(file) }
                changed.append(file.path)
            }
        } catch {
            if error.code == .rootMissing {
                // Looked at when it is back, which it may be by now.
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
        // Not those that were there a moment ago: what has become of them is told.
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

    /// The directory that was renamed to an unknown one while nobody watched: a known list's that is
    /// gone, whose files are beneath this one where they were beneath that.
    ///
    /// - Parameter files: those that the scan found and that are not as they were.
    private func formerName(of directory: TaskPath, holding files: [TaskPath]) -> TaskPath? {
        guard !isReadopted, directory.kind(isDirectory: true) == .list, lists.id(directory) == nil,
            lists.paths.values.contains(where: hasGone)
        else { return nil }
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

    /// Whether a directory is not there any more. A link is as good as the directory, which it may lead to.
    private func hasGone(_ directory: TaskPath) -> Bool { (try? folder.hasDirectory(directory)) == false }

    /// Where the known file was that a file is by its identifier or its inode.
    private func knownPath(of file: TaskPath, _ stamp: FileStamp) -> TaskPath? {
        if let task = (try? folder.identifier(file)) ?? nil { return index.path(of: task) }
        guard let known = index.path(withInodeOf: stamp), index[known]?.stamp.hasContent(of: stamp) == true else {
            return nil
        }
        return known
    }

    private func isUnexplored(_ path: TaskPath) -> Bool { unexplored.contains(where: path.isBeneath) }
}

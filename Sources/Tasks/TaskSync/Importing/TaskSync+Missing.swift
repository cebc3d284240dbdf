import DocumentClient
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Handles known files that are not at their paths although no delete was reported.
extension TaskSync {
    /// Records that a file is missing. Whether it was deleted, has moved or is out of reach is
    /// found out later; until then its task is behind. If renames are not reported, the import
    /// looks for the file before it counts as deleted.
    func isMissing(_ task: TaskID, at path: TaskPath) {
        // The path to which the file was reported to have moved, if it left that before it was
        // read.
        let told = index.path(of: task).flatMap { folder.isAbsent($0) ? $0 : nil }
        noteMissing([path] + [told].compactMap(\.self))
        retries.insert(task)
    }

    /// Records the known files beneath a directory that disappeared while it could not be read.
    func noteAbsent(beneath directory: TaskPath) {
        var known: [TaskPath]
        if directory.kind(isDirectory: true) == .attachments {
            let task = index[directory.taskFileOfAttachments]?.task
            known = task.map { attachments.rows(of: $0).values.compactMap { path(of: $0) } } ?? []
        } else {
            known = index.paths(beneath: directory)
            known += attachments.all.compactMap { path(of: $0) }.filter { $0.isBeneath(directory) }
        }
        // A file that was out of sight beneath the directory is there now, or missing.
        let origins = outOfSight.filter { $0.value.isBeneath(directory) }.map(\.key)
        for origin in origins { outOfSight[origin] = nil }
        noteMissing((known + origins).filter { folder.isAbsent($0) })
    }

    /// Records files as missing. Nothing is known about files beneath an unreadable directory: the
    /// scan that follows when it can be read finds them or finds them missing.
    func noteMissing(_ paths: [TaskPath]) {
        let paths = readable(paths).filter { !isOutOfSight($0) }
        if !paths.isEmpty, !isReadopted, !isHiding { changes.noteMissing(paths) }
    }

    /// Whether a file moved where it cannot be looked at, for example into a list whose directory
    /// was then replaced by a link.
    func isOutOfSight(_ path: TaskPath) -> Bool {
        guard let place = outOfSight[path] else { return false }
        if (try? folder.stamp(place)) == nil, !folder.isAbsent(place) { return true }
        outOfSight[path] = nil
        return false
    }

    /// Whether a missing file may have moved into a directory that cannot be read, because one has
    /// changed since all known files were last found.
    var isHiding: Bool {
        isPartlyUnreadable
            && unlisted.contains { path in unreadable[path].map { $0 != folder.directoryChanged(path) } ?? true }
    }

    /// Whether a file that a scan did not find may have moved into a directory that the scan could
    /// not list.
    func isHiding(in scan: FolderScan) -> Bool { scan.unlisted.contains { unreadable[$0.key] != $0.value } }

    /// Remembers the directories that a scan could not list.
    ///
    /// - Parameter isComplete: Whether every known file that is not beneath these directories was
    ///   found, so that none of them has moved into one.
    func noteUnlisted(_ scan: FolderScan, isComplete: Bool) async throws {
        unlisted = Set(scan.unlisted.keys)
        let known = isComplete ? scan.unlisted : unreadable.filter { scan.unlisted[$0.key] == $0.value }
        guard known != unreadable else { return }
        unreadable = known
        let text = known.map { "\($0.value.seconds) \($0.value.nanoseconds) \($0.key.string)" }.sorted()
        try await client.transaction { try SyncTables($0).setState("unreadable", text.joined(separator: "\n")) }
    }

    /// Parses what `noteUnlisted` has stored.
    static func unreadable(saved text: String) -> [TaskPath: FileTime] {
        var found: [TaskPath: FileTime] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard words.count == 3, let seconds = Int64(words[0]), let nanoseconds = Int32(words[1]) else { continue }
            let path = words[2].isEmpty ? TaskPath.root : try? TaskPath(String(words[2]))
            if let path { found[path] = FileTime(seconds: seconds, nanoseconds: nanoseconds) }
        }
        return found
    }

    /// Returns the paths that are not beneath an unreadable directory.
    func readable(_ paths: [TaskPath]) -> [TaskPath] {
        let hidden = folderProblems.values.filter(Self.isUnreadable).compactMap(\.subject)
        guard !hidden.isEmpty else { return paths }
        return paths.filter { path in
            let path = escapedPath(path.string)
            return !hidden.contains { $0 == TaskPath.root.description || path.utf8.starts(with: "\($0)/".utf8) }
        }
    }

    /// Restores and reads missing files that a program saved just before Ferry moved them to the
    /// local trash, if the move itself could not restore them.
    ///
    /// - Returns: The restored files.
    func takeBackFromTrash(_ missing: Set<TaskPath>) async throws -> [TaskPath] {
        var back: [TaskPath] = []
        let known = missing.map { ($0, index[$0]?.stamp ?? .none) }.filter { $0.1 != .none }
        do throws(FolderError) {
            back = try folder.takeBackFromTrash(Dictionary(uniqueKeysWithValues: known))
        } catch {
            logger.warning("the local trash cannot be looked through for what was saved last", ["error": "\(error)"])
        }
        if !back.isEmpty { try await importFiles(back, isScan: true) }
        return back
    }

    /// Whether some of the directory cannot be read.
    var isPartlyUnreadable: Bool { folderProblems.values.contains(where: Self.isUnreadable) }

    /// Forgets the problems of a directory that has appeared or is gone. A file that could not be
    /// read there may be anywhere.
    func forgetProblems(of directory: TaskPath) {
        let beneath = directory.string + "/"
        let stood = folderProblems.filter { ($0.value.subject.map { $0 + "/" } ?? "").hasPrefix(beneath) }
        for key in stood.keys { folderProblems[key] = nil }
        problems = problems.filter { !$0.key.hasPrefix(beneath) }
        if stood.values.contains(where: Self.isUnreadable) { changes.askForScan() }
    }

    /// Forgets the problems of files that disappeared without an event, for example with the whole
    /// directory.
    func forgetProblemsOfAbsentFiles() {
        let gone = problems.keys.filter { key in
            problems[key]?.subject == key && (try? TaskPath(key)).map(folder.isAbsent) == true
        }
        for key in gone { problems[key] = nil }
    }

    /// Fills known files that are empty without an event, which is how a power cut leaves files
    /// that were saved but not written to disk. They get the contents that they had when they were
    /// last in step. A file that was renamed is read under its new name afterwards. A file that
    /// cannot be written now is tried again later; until then it does not count as emptied by its
    /// user.
    ///
    /// - Parameter others: The other files that the scan found and that have changed. If a known
    ///   file is among them, it was renamed and another file has its old name.
    /// - Returns: The files that have the name of a renamed one.
    func fillEmptied(_ files: [ScannedFile], beside others: [TaskPath]) async throws -> [TaskPath] {
        var left: [TaskPath] = []
        for file in files {
            if let entry = index[file.path], !entry.stamp.isFile(of: file.stamp), has(others, file: entry) {
                left.append(file.path)
            } else if let task = index[file.path]?.task ?? taskOfMoved(file.path) {
                try await fill(file.path, of: task, file.stamp)
            }
        }
        return left
    }

    /// Whether one of the paths is a known file with a new name.
    private func has(_ paths: [TaskPath], file entry: FileIndex.Entry) -> Bool {
        paths.contains { path in
            guard let stamp = try? folder.stamp(path), entry.stamp.isFile(of: stamp), stamp.size > 0 else {
                return false
            }
            return isSame(stamp, as: entry, folder.taskID(of: path))
        }
    }

    private func fill(_ path: TaskPath, of task: TaskID, _ stamp: FileStamp) async throws {
        guard var row = try await client.reading({ try SyncTables($0).file(task) }), !row.bytes.isEmpty else { return }
        let write = FolderWrite(
            path: path, bytes: row.bytes, expecting: .stamp(stamp), mark: mark(of: task, at: path))
        unfilled[task] = nil
        switch folder.write([write]).first {
        case .success(.written(let stamp)):
            noteFilled(path, task)
            guard row.path == path else { return changes.noteFound(path) }
            row.stamp = stamp
            try await remember([row])
        case .failure:
            unfilled[task] = (path, stamp)
            retries.insert(task)
        default: break
        }
    }

    /// Reports that a file was empty and was filled again, because its user may have emptied it.
    private func noteFilled(_ path: TaskPath, _ task: TaskID) {
        logger.notice("was empty after a start of the machine, and has its text back", ["path": "\(path)"])
        note(
            SyncProblem(
                code: "emptied", subject: path.string,
                message:
                    "It was empty when the machine had started, as a power cut leaves files, and has its text back.",
                hint: "If you had emptied it, empty it again. Any edit of it, or a restart of ferryd, ends this notice."
            ),
            for: Self.emptiedKey(task))
    }

    static func emptiedKey(_ task: TaskID) -> String { "emptied \(task)" }

    /// Records that all directories were searched and all files filled, so that files which are
    /// empty at a later start in this boot were emptied by their users.
    func noteBoot() async throws {
        guard let boot = configuration.bootID, !isBootNoted, unexplored.isEmpty, unfilled.isEmpty else { return }
        try await client.transaction { try SyncTables($0).setState("boot", boot) }
        isBootNoted = true
    }

    /// Tries again to fill the files that could not be filled.
    func fillAgain() async throws {
        for task in unfilled.keys.sorted() {
            guard let path = pathOfUnfilled(task), let now = try? folder.stamp(path) else { continue }
            try await fill(path, of: task, now)
            // This comes before the removal of the old name, after which the file would count as a
            // copy.
            if index.path(of: task) != path { try await importFiles([path]) }
        }
        try await noteBoot()
    }

    /// Returns the path of a task's file if it is still as empty as a power cut has left it.
    /// Otherwise it was changed or removed by its user.
    func pathOfUnfilled(_ task: TaskID) -> TaskPath? {
        guard let file = unfilled[task] else { return nil }
        return [index.path(of: task), file.path].compactMap(\.self).first { path in
            (try? folder.stamp(path))?.hasContent(of: file.stamp) == true
        }
    }

    /// Returns the task named by a file's identifier, if that task's last known path no longer
    /// exists.
    private func taskOfMoved(_ path: TaskPath) -> TaskID? {
        guard let task = folder.taskID(of: path), let known = index.path(of: task),
            folder.isAbsent(known)
        else { return nil }
        return task
    }

    private static func isUnreadable(_ problem: SyncProblem) -> Bool {
        [FolderProblem.Kind.unreadable, .otherFileSystem].contains { problem.code == word($0) }
    }
}

import DocumentClient
import SystemIO
import SystemService
import TaskFolder

/// Files that are not where they should be, while nobody has said that they were deleted.
extension TaskSync {
    /// Whether a file that is not there was deleted, moved or is only out of reach will turn out;
    /// until then its task is behind. Where renames are not told of, the import looks for it before
    /// it counts as deleted.
    func isMissing(_ task: String, at path: TaskPath) {
        // Also where it was told to have moved, if it has gone from there before it was read.
        let told = index.path(of: task).flatMap { folder.isAbsent($0) ? $0 : nil }
        noteMissing([path] + [told].compactMap(\.self))
        retries.insert(task)
    }

    /// What went while nobody could look into the directory.
    func noteAbsent(beneath directory: TaskPath) {
        var known: [TaskPath]
        if directory.kind(isDirectory: true) == .attachments {
            let task = index[directory.taskFileOfAttachments]?.task
            known = task.map { attachments.rows(of: $0).values.compactMap { path(of: $0) } } ?? []
        } else {
            known = index.paths(beneath: directory)
            known += attachments.all.compactMap { path(of: $0) }.filter { $0.isBeneath(directory) }
        }
        // What was out of sight beneath it is there now, or missing.
        let origins = outOfSight.filter { $0.value.isBeneath(directory) }.map(\.key)
        for origin in origins { outOfSight[origin] = nil }
        noteMissing((known + origins).filter { folder.isAbsent($0) })
    }

    /// Files that are gone unless they come back. Nothing is known of those beneath a directory
    /// that cannot be read: the scan that follows when it can be finds them, or misses them too.
    func noteMissing(_ paths: [TaskPath]) {
        let paths = readable(paths).filter { !isOutOfSight($0) }
        if !paths.isEmpty, !isReadopted, !isHiding { changes.noteMissing(paths) }
    }

    /// Whether a file went where it cannot be looked at, such as into a list whose place a link took at once.
    func isOutOfSight(_ path: TaskPath) -> Bool {
        guard let place = outOfSight[path] else { return false }
        if (try? folder.stamp(place)) == nil, !folder.isAbsent(place) { return true }
        outOfSight[path] = nil
        return false
    }

    /// Whether a file that is missing may have moved into a directory that cannot be read:
    /// something did since all known files were last seen where they were.
    var isHiding: Bool {
        isPartlyUnreadable
            && unlisted.contains { path in unreadable[path].map { $0 != folder.directoryChanged(path) } ?? true }
    }

    /// Whether a file that a scan did not find may have moved into a directory that the scan could not list.
    func isHiding(in scan: FolderScan) -> Bool { scan.unlisted.contains { unreadable[$0.key] != $0.value } }

    /// Remembers the directories that a scan could not list.
    ///
    /// - Parameter isComplete: Whether all that is known and not beneath them was found, so that nothing of it is in them.
    func noteUnlisted(_ scan: FolderScan, isComplete: Bool) async throws {
        unlisted = Set(scan.unlisted.keys)
        let known = isComplete ? scan.unlisted : unreadable.filter { scan.unlisted[$0.key] == $0.value }
        guard known != unreadable else { return }
        unreadable = known
        let text = known.map { "\($0.value.seconds) \($0.value.nanoseconds) \($0.key.string)" }.sorted()
        try await client.transaction { try SyncTables($0).setState("unreadable", text.joined(separator: "\n")) }
    }

    /// What `noteUnlisted` has stored.
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

    /// The paths that are not beneath a directory that cannot be read.
    func readable(_ paths: [TaskPath]) -> [TaskPath] {
        let hidden = folderProblems.values.filter(Self.isUnreadable).compactMap(\.subject)
        guard !hidden.isEmpty else { return paths }
        return paths.filter { path in
            let path = escapedPath(path.string)
            return !hidden.contains { $0 == TaskPath.root.description || path.utf8.starts(with: "\($0)/".utf8) }
        }
    }

    /// Brings those of missing files back that were saved just before they were moved to the local
    /// trash, where the move could not put them back itself, and reads them. Answers which.
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

    /// Whether something of the directory cannot be read.
    var isPartlyUnreadable: Bool { folderProblems.values.contains(where: Self.isUnreadable) }

    /// A directory has come, or this one has gone: what stood in the way there is over, and what
    /// could not be read may be anywhere.
    func forgetProblems(of directory: TaskPath) {
        let beneath = directory.string + "/"
        let stood = folderProblems.filter { ($0.value.subject.map { $0 + "/" } ?? "").hasPrefix(beneath) }
        for key in stood.keys { folderProblems[key] = nil }
        problems = problems.filter { !$0.key.hasPrefix(beneath) }
        if stood.values.contains(where: Self.isUnreadable) { changes.askForScan() }
    }

    /// Of files that went while nobody was told, as with the whole directory.
    func forgetProblemsOfAbsentFiles() {
        let gone = problems.keys.filter { key in
            problems[key]?.subject == key && (try? TaskPath(key)).map(folder.isAbsent) == true
        }
        for key in gone { problems[key] = nil }
    }

    /// Known files that are empty, and nobody saw it happen: so a power cut leaves what was saved
    /// and not written to disk. They get back what they said when they were last in step; one that
    /// has another name by now is read under that afterwards. What cannot be written at present is
    /// tried again, and until then nobody has emptied it.
    ///
    /// - Parameter others: what the scan found that is news. A known file that is among them has not been emptied: another one has its
    ///   name.
    /// - Returns: those that have the name of one.
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

    /// Whether one of these is a known file under a new name.
    private func has(_ paths: [TaskPath], file entry: FileIndex.Entry) -> Bool {
        paths.contains { path in
            guard let stamp = try? folder.stamp(path), entry.stamp.isFile(of: stamp), stamp.size > 0 else {
                return false
            }
            return isSame(stamp, as: entry, try? folder.identifier(path))
        }
    }

    private func fill(_ path: TaskPath, of task: String, _ stamp: FileStamp) async throws {
        guard var row = try await client.reading({ try SyncTables($0).file(task) }), !row.bytes.isEmpty else { return }
        let write = FolderWrite(path: path, bytes: row.bytes, expecting: .stamp(stamp), identifier: task)
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

    /// Reports that a file was empty and has got its text back: its user may have emptied it.
    private func noteFilled(_ path: TaskPath, _ task: String) {
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

    static func emptiedKey(_ task: String) -> String { "emptied \(task)" }

    /// Remembers, once every directory was looked into and everything is filled, that files which
    /// are empty at a later start in this boot were emptied by their users.
    func noteBoot() async throws {
        guard let boot = configuration.bootID, !isBootNoted, unexplored.isEmpty, unfilled.isEmpty else { return }
        try await client.transaction { try SyncTables($0).setState("boot", boot) }
        isBootNoted = true
    }

    /// Tries again what could not be filled.
    func fillAgain() async throws {
        for task in unfilled.keys.sorted() {
            guard let path = pathOfUnfilled(task), let now = try? folder.stamp(path) else { continue }
            try await fill(path, of: task, now)
            // Before the removal of its old name counts: nobody would look for it then, and it would be a copy.
            if index.path(of: task) != path { try await importFiles([path]) }
        }
        try await noteBoot()
    }

    /// Where the file of a task still is as empty as a power cut has left it. One that is not, or
    /// has gone, is its user's.
    func pathOfUnfilled(_ task: String) -> TaskPath? {
        guard let file = unfilled[task] else { return nil }
        return [index.path(of: task), file.path].compactMap(\.self).first { path in
            (try? folder.stamp(path))?.hasContent(of: file.stamp) == true
        }
    }

    /// Whose a file says that it is, where that is known under a name that nothing has.
    private func taskOfMoved(_ path: TaskPath) -> String? {
        guard let task = (try? folder.identifier(path)) ?? nil, let known = index.path(of: task),
            folder.isAbsent(known)
        else { return nil }
        return task
    }

    private static func isUnreadable(_ problem: SyncProblem) -> Bool {
        problem.code == word(FolderProblem.Kind.unreadable)
    }
}

import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Decides which task a file belongs to.
extension TaskSync {
    /// Returns paths in the order in which their tasks are to be identified.
    func inOrderOfIdentity(_ paths: [TaskPath]) -> [TaskPath] {
        // If a name was given to another file, its former owner may be found under a new name,
        // which comes first.
        let order = paths.filter { index[$0] == nil } + paths.filter { index[$0] != nil }
        // A copy has the same text as a file that is gone or was replaced. If the original was
        // renamed, its identifier tells.
        guard !missingPaths.isEmpty || order.contains(where: { index[$0] != nil }) else { return order }
        func rank(_ path: TaskPath) -> Int {
            guard let identifier = folder.taskID(of: path), identifier != index[path]?.task else { return 2 }
            // A file of a task that is not known here may have the text of a known one.
            return index.path(of: identifier) == nil ? 1 : 0
        }
        let ranks = order.map(rank)
        return (0...2).flatMap { wanted in zip(order, ranks).filter { $1 == wanted }.map(\.0) }
    }

    /// The paths of known files that are missing.
    private var missingPaths: Set<TaskPath> { missingInScan.union(changes.missingPaths) }

    /// Returns the task of a file: the one known at the path, that of a known file with a new name,
    /// or a new one. A copy is a new task.
    ///
    /// - Parameter namesUnknown: Whether the file's identifier is that of a task that is not known
    ///   here, so that its text proves nothing.
    func identify(
        _ path: TaskPath, _ content: TaskFileContent, _ identifier: TaskID?, namesUnknown: Bool,
        claimed: [ImportedFile], _ replaced: inout Set<TaskID>
    ) async throws -> (task: TaskID, isNew: Bool) {
        func isClaimed(_ task: TaskID) -> Bool { claimed.contains { $0.task == task } }
        func isFree(_ task: TaskID) async throws -> Bool {
            guard !isClaimed(task) else { return false }
            // The task may be in the trash, too: a file that is back means that it is not to be
            // there.
            guard let known = index.path(of: task) else { return try await isTask(task) }
            guard known != path else { return false }
            if let other = folder.taskID(of: known), other != task { return true }
            guard index[known]?.stamp == FileStamp.none || unfinishedWrites[task] != nil else {
                guard let there = try? folder.stamp(known) else { return folder.isAbsent(known) }
                return index[known]?.stamp.isFile(of: there) == false && isOther(there, at: known, than: task)
            }
            // A file whose write was not recorded has no known inode. If it cannot be read, it
            // counts as gone.
            guard let there = try? folder.read(known) else { return (try? folder.stamp(known)) == nil }
            return try await isForeign(there, folder.taskID(of: known), where: task)
        }
        if let entry = index[path], entry.stamp == .none, !isClaimed(entry.task),
            try await isForeign(content, identifier, where: entry.task)
        {
            try await forget([path])
            // The file may have been written, and renamed since.
            soughtFiles.insert(entry.task)
            changes.askForScan()
        }
        let sameInode = index.path(withInodeOf: content.stamp).flatMap { index[$0] }
        // Whether the known file with this inode has moved here: it is not at its path, or that
        // cannot be read.
        func hasCome(_ entry: FileIndex.Entry) -> Bool {
            guard !isClaimed(entry.task), let known = index.path(of: entry.task), known != path else { return false }
            guard let there = try? folder.stamp(known) else { return isSame(content.stamp, as: entry, identifier) }
            return !there.isFile(of: content.stamp)
                && (identifier.map { $0 == entry.task } ?? entry.stamp.hasContent(of: content.stamp))
        }
        // The known file, unless it was just found under another name.
        if let entry = index[path], !isClaimed(entry.task) {
            // Another task's file replaced this one while the directory was not watched. An inode
            // alone is no proof, because it may be an old number of a new file.
            let other = identifier ?? sameInode.flatMap { $0.stamp.hasContent(of: content.stamp) ? $0.task : nil }
            guard let other, other != entry.task else { return (entry.task, false) }
            var isMoved = sameInode.map { $0.task == other && hasCome($0) } == true
            if !isMoved { isMoved = try await isFree(other) }
            guard isMoved else { return (entry.task, false) }
            // A program saved the file under another name first: it is the new text of this task.
            // It is not known whether the replaced file was deleted, so a task that others may have
            // edited stays.
            if folder.isFullyWatched, isNewborn(other, after: entry.task), try await isUnsent(other) {
                try await dissolve(other)
                return (entry.task, false)
            }
            replaced.insert(entry.task)
            return (other, false)
        }
        if let sameInode, hasCome(sameInode) { return (sameInode.task, false) }
        if let identifier, try await isFree(identifier) { return (identifier, false) }
        if !namesUnknown, let task = try await missingTask(like: content, named: path.name, replaced),
            try await isFree(task)
        {
            return (task, false)
        }
        return (TaskID(DocumentID.make(in: environment)), true)
    }

    /// Whether a task with this id exists. The id may be any text. The catalog may not contain the
    /// task yet, for example while syncing is paused.
    private func isTask(_ id: TaskID) async throws -> Bool {
        if catalog[id] != nil { return true }
        return try await client.reading { transaction in
            let name = try? DocumentName(task: id, in: transaction.databaseName)
            return try name.map { try transaction.document($0).exists } ?? false
        }
    }

    /// Whether a file's identifier is that of a task which this machine does not know: it was copied
    /// here before the documents arrived, or the state is older than the file.
    func isUnknown(_ identifier: TaskID?, at path: TaskPath, claimed: [ImportedFile]) async throws -> Bool {
        guard let identifier, identifier != index[path]?.task, index.path(of: identifier) == nil,
            !claimed.contains(where: { $0.task == identifier })
        else { return false }
        return try await !isTask(identifier)
    }

    /// Whether a file whose identifier is that of an unknown task waits until the server has reported
    /// all tasks. If it became a new task before that, the task could have two files.
    func waitsForItsTask(_ path: TaskPath, _ identifier: TaskID?) async throws -> Bool {
        guard let identifier else { return false }
        // This comes before the check of the status, so that a change in between is noticed.
        unidentified[identifier, default: []].insert(path)
        let isCurrent = await client.currentStatus.isCurrent
        // The task may have arrived since the file was identified.
        let isKnown = try await isTask(identifier)
        if isKnown || isCurrent { endWait(of: path, for: identifier) }
        if isKnown { changes.noteFound(path) }
        if isKnown || isCurrent { return isKnown }
        note(
            SyncProblem(
                code: "not-identified", subject: path.string,
                message: "The file says that it is the file of a task that this machine does not know yet.",
                hint: "It is synced as soon as the server can be reached."), for: path.string)
        return true
    }

    /// Whether a file becomes the task that it names, which neither this machine nor the server
    /// has: it belongs to this account, so that a state which knew it is lost.
    ///
    /// Creations of one id on two machines are one task, also if the lost state had sent one that
    /// arrives later. Of several files with that id the first one gets it; the others are copies.
    func isReusable(_ mark: FileMark) async -> Bool {
        guard mark.account == configuration.userID.rawValue else { return false }
        return (try? await name(of: TaskID(mark.task))) != nil
    }

    /// Returns the mark for the file of a task. It does not name the account in a list of another
    /// user, who may take away the right to recreate the task.
    func mark(of task: TaskID, at path: TaskPath) -> FileMark {
        let isHosted = lists.id(path.parent).map { hosts[$0] != nil } ?? false
        return FileMark(task: task.rawValue, account: isHosted ? nil : configuration.userID.rawValue)
    }

    /// Records that a file no longer waits for its task.
    func endWait(of path: TaskPath, for task: TaskID) {
        unidentified[task]?.remove(path)
        if unidentified[task]?.isEmpty == true { unidentified[task] = nil }
    }

    /// Reads files that wait for their tasks whenever the server has reported all tasks.
    func followUnidentified() async throws {
        for await status in await client.statuses where status.isCurrent && !unidentified.isEmpty {
            try await withExclusiveAccess {
                guard rootHold == nil else { return }
                let paths = unidentified.values.flatMap(\.self).sorted()
                unidentified = [:]
                for path in paths { problems[path.string] = nil }
                try await importFiles(paths)
                try await exportRetries()
            }
        }
        throw CancellationError()
    }

    /// Whether a file at the path of `task`, or where it was to be written, belongs to another
    /// task, as far as text and identifier tell.
    func isForeign(_ content: TaskFileContent, _ identifier: TaskID?, where task: TaskID) async throws -> Bool {
        guard identifier != task else { return false }
        return try await !isVersion(content.bytes, of: task)
    }

    /// Whether a file with the inode of a known one is that file. The number of a deleted file is
    /// soon given to a new one.
    func isSame(_ stamp: FileStamp, as entry: FileIndex.Entry, _ identifier: TaskID?) -> Bool {
        if let identifier { return identifier == entry.task }
        if entry.stamp.hasContent(of: stamp) { return true }
        // A known file has its task's identifier, if the file system supports that.
        return !folder.keepsIdentifiers
    }

    /// Returns the task of a file that is missing, or that was replaced, and that this one continues:
    /// it has the same text, or a part of it and the same name in another directory.
    private func missingTask(
        like content: TaskFileContent, named name: String, _ replaced: Set<TaskID>
    ) async throws -> TaskID? {
        let missing = missingPaths.union(replaced.compactMap { index.path(of: $0) })
        let likely = missing.filter { index[$0].map { $0.stamp.size == content.stamp.size } ?? false }
        let tasks = likely.prefix(100).compactMap { index[$0]?.task }
        let same = try await client.reading { transaction in
            let tables = SyncTables(transaction)
            return try tasks.filter { try tables.file($0)?.bytes == content.bytes }
        }
        if let task = same.min() { return task }
        let namesakes = missing.filter { $0.name.utf8.elementsEqual(name.utf8) }
        guard namesakes.count == 1, let task = namesakes.first.flatMap({ index[$0]?.task }) else { return nil }
        return try await isVersion(content.bytes, of: task) ? task : nil
    }

    /// Whether a text may be another version of a task's file: it has a line of the notes or, if
    /// there were none, of the front matter. Front matter is similar in many tasks.
    private func isVersion(_ text: [UInt8], of task: TaskID) async throws -> Bool {
        let old = try await client.reading { try SyncTables($0).file(task)?.bytes ?? [] }
        func lines(_ text: ArraySlice<UInt8>) -> Set<ArraySlice<UInt8>> {
            Set(text.split(separator: UInt8(ascii: "\n")).filter { $0.contains { $0 > 0x2D } })
        }
        func notes(_ text: [UInt8]) -> ArraySlice<UInt8> {
            text.dropFirst((try? TaskFile(parsing: text, named: ""))?.head.count ?? 0)
        }
        let known = lines(notes(old))
        if !known.isEmpty { return !known.isDisjoint(with: lines(notes(text))) }
        let head = lines(old[...])
        return head.isEmpty || !head.isDisjoint(with: lines(text[...]))
    }
}

extension TaskFolder {
    /// The task that a file's attribute names; nil if it has none or cannot be looked at.
    func taskID(of path: TaskPath) -> TaskID? { ((try? identifier(path)) ?? nil).map { TaskID($0) } }
}

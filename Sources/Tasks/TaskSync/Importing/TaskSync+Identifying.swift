import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Whose a file is.
extension TaskSync {
    /// Files in the order in which it is to be found out whose they are.
    func inOrderOfIdentity(_ paths: [TaskPath]) -> [TaskPath] {
        // Whose name was given to another may be found under a new one, which is looked at first.
        let order = paths.filter { index[$0] == nil } + paths.filter { index[$0] != nil }
        // A copy says the same as a file that has gone; where that has come to another name, its identifier tells.
        guard !missingPaths.isEmpty else { return order }
        let news = Set(
            order.filter { path in
                guard let identifier = (try? folder.identifier(path)) ?? nil else { return false }
                return identifier != index[path]?.task
            })
        return order.filter(news.contains) + order.filter { !news.contains($0) }
    }

    /// Known files that are not where they were.
    private var missingPaths: Set<TaskPath> { missingInScan.union(changes.missingPaths) }

    /// Whose a file is: the task known at the path, a known file under a new name, or a new task. A copy is a new task.
    func identify(
        _ path: TaskPath, _ content: TaskFileContent, _ identifier: String?, claimed: [ImportedFile],
        _ replaced: inout Set<String>
    ) async throws -> (task: String, isNew: Bool) {
        func isClaimed(_ task: String) -> Bool { claimed.contains { $0.task == task } }
        func isFree(_ task: String) async throws -> Bool {
            guard !isClaimed(task) else { return false }
            // One in the trash as well: a file that is back says that it is not to be there.
            guard let known = index.path(of: task) else { return try await isTask(task) }
            guard known != path else { return false }
            guard index[known]?.stamp == FileStamp.none || unfinishedWrites[task] != nil else {
                guard let there = try? folder.stamp(known) else { return folder.isAbsent(known) }
                return index[known]?.stamp.isFile(of: there) == false && isOther(there, at: known, than: task)
            }
            // One that was written and not noted has no inode to know it by, so that where nobody
            // can look is as good as gone.
            guard let there = try? folder.read(known) else { return (try? folder.stamp(known)) == nil }
            return try await isForeign(there, (try? folder.identifier(known)) ?? nil, where: task)
        }
        if let entry = index[path], entry.stamp == .none, !isClaimed(entry.task),
            try await isForeign(content, identifier, where: entry.task)
        {
            try await forget([path])
            // It may have been written, and renamed a moment ago.
            soughtFiles.insert(entry.task)
            changes.askForScan()
        }
        let sameInode = index.path(withInodeOf: content.stamp).flatMap { index[$0] }
        // The known file of this number, which is not where it was, whatever is there by now, or where nobody can look.
        func hasCome(_ entry: FileIndex.Entry) -> Bool {
            guard !isClaimed(entry.task), let known = index.path(of: entry.task), known != path else { return false }
            guard let there = try? folder.stamp(known) else { return isSame(content.stamp, as: entry, identifier) }
            return !there.isFile(of: content.stamp)
                && (identifier.map { $0 == entry.task } ?? entry.stamp.hasContent(of: content.stamp))
        }
        // Unless its task's file has just been found under another name.
        if let entry = index[path], !isClaimed(entry.task) {
            // Another task's file was put in the place of this one's while nobody watched. An inode
            // alone may be an old number that was given to a new file.
            let other = identifier ?? sameInode.flatMap { $0.stamp.hasContent(of: content.stamp) ? $0.task : nil }
            guard let other, other != entry.task else { return (entry.task, false) }
            var isMoved = sameInode.map { $0.task == other && hasCome($0) } == true
            if !isMoved { isMoved = try await isFree(other) }
            guard isMoved else { return (entry.task, false) }
            // Saved under another name first: it is this one's new text. Nothing tells whether the file
            // that was there had been deleted, so a task that others may have edited stays.
            if folder.isFullyWatched, isNewborn(other, after: entry.task), try await isUnsent(other) {
                try await dissolve(other)
                return (entry.task, false)
            }
            replaced.insert(entry.task)
            return (other, false)
        }
        if let sameInode, hasCome(sameInode) { return (sameInode.task, false) }
        if let identifier, try await isFree(identifier) { return (identifier, false) }
        if let task = try await missingTask(like: content, named: path.name), try await isFree(task) {
            return (task, false)
        }
        return (DocumentID.make(in: environment), true)
    }

    /// Whether there is a task of this id, which may be anything. The catalog may not know it yet,
    /// as while sync is paused.
    private func isTask(_ id: String) async throws -> Bool {
        if catalog[id] != nil { return true }
        return try await client.reading { transaction in
            let name = try? DocumentName(database: transaction.databaseName, collection: "tasks", id: id)
            return try name.map { try transaction.document($0).exists } ?? false
        }
    }

    /// Whether a new file waits until the server has told of all tasks: its identifier says that it
    /// is the file of one that is not known here. It was copied ahead of the documents, or the
    /// state is older than the file. As a new task it would be a double.
    func waitsForItsTask(
        _ path: TaskPath, _ identifier: String?, claimed: [ImportedFile]
    ) async throws -> Bool {
        guard let identifier, index.path(of: identifier) == nil, !claimed.contains(where: { $0.task == identifier })
        else { return false }
        // Before the look at the status: a change after that is followed.
        unidentified[identifier, default: []].insert(path)
        let isCurrent = await client.currentStatus.isCurrent
        // It may have come since the file was identified.
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

    /// A file does not wait for its task any more.
    func endWait(of path: TaskPath, for task: String) {
        unidentified[task]?.remove(path)
        if unidentified[task]?.isEmpty == true { unidentified[task] = nil }
    }

    /// Reads files that wait for their tasks whenever the server has told of all.
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

    /// Whether a file that is where one of `task` is, or was to be written, is somebody else's, as far as the two tell.
    func isForeign(_ content: TaskFileContent, _ identifier: String?, where task: String) async throws -> Bool {
        guard identifier != task else { return false }
        return try await !isVersion(content.bytes, of: task)
    }

    /// Whether a file with the inode of a known one is that file: as soon as a file is deleted, its
    /// number is given to a new one.
    func isSame(_ stamp: FileStamp, as entry: FileIndex.Entry, _ identifier: String?) -> Bool {
        if let identifier { return identifier == entry.task }
        if entry.stamp.hasContent(of: stamp) { return true }
        // A known file says whose it is, where the file system lets it.
        return !folder.keepsIdentifiers
    }

    /// The task of a file that has just gone, and that this one continues: it says the same, or
    /// some of it under the same name elsewhere.
    private func missingTask(like content: TaskFileContent, named name: String) async throws -> String? {
        let missing = missingPaths
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

    /// Whether a text may be another version of a task's file: it has a line of its notes or, where
    /// it had none, of its head, as far as there was any. What is in the head is in that of many.
    private func isVersion(_ text: [UInt8], of task: String) async throws -> Bool {
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

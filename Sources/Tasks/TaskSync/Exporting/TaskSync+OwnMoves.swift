import DocumentClient
import DocumentModel
import SystemIO
import TaskFolder
import TaskModel

/// Moves files. The moves are recorded in the state file first: after a crash nothing else
/// identifies a file that was moved and then replaced by an editor.
extension TaskSync {
    /// Moves files to the paths that follow from their tasks' titles and lists. None of these paths
    /// may be that of another one of the files.
    ///
    /// - Parameter changedHere: Gets the files that have changed and are to be read first.
    /// - Returns: The rows of the files that were moved.
    func rename(
        _ files: [(row: FileRow, path: TaskPath)], _ changedHere: inout [TaskPath]
    ) async throws -> [FileRow] {
        guard !files.isEmpty else { return [] }
        try await announceMoves(files.map { ($0.row.path, $0.path) })
        for (row, path) in files { changes.expectMove(row.path, to: path) }
        let results = folder.move(files.map { FolderMove($0.row.path, to: $0.path, expecting: .stamp($0.row.stamp)) })
        var moved: [(from: TaskPath, row: FileRow)] = []
        let unfinishedCount = unfinishedMoves.count
        for ((row, path), result) in zip(files, results) {
            if case .success(.moved(let stamp)) = result {
                moveAttachments(from: row.path, to: path)
                var new = row
                (new.path, new.stamp) = (path, stamp)
                moved.append((row.path, new))
                continue
            }
            if case .failure = result, folder.isAbsent(row.path), !folder.isAbsent(path) {
                // It was moved, and may not be on the disk.
                unfinishedMoves.append((row.path, path))
            } else {
                changes.forgetMove(row.path, to: path)
            }
            noteUnmoved(row, result, &changedHere)
        }
        if unfinishedMoves.count > unfinishedCount {
            try await client.transaction { [unfinishedMoves] in try SyncTables($0).setUnfinishedMoves(unfinishedMoves) }
        }
        if moved.isEmpty { try await takeBackMoves() } else { try await remember(moved.map(\.row)) }
        for (old, row) in moved {
            vacated.insert(old)
            if vacated.remove(row.path) != nil { try await noteSteps(.arrival, [row.task]) }
            // A user may have put them there for the task that had this name before.
            await noteAttachments(of: row.task, at: row.path)
        }
        if !moved.isEmpty { retries.formUnion(misnamed.subtracting(moved.map(\.row.task))) }
        for directory in Set(moved.map(\.from.parent)) { removeIfEmpty(directory) }
        return moved.map(\.row)
    }

    /// Makes the task of a file that was not moved stay behind.
    private func noteUnmoved(
        _ row: FileRow, _ result: Result<MoveOutcome, FolderError>, _ changedHere: inout [TaskPath]
    ) {
        switch result {
        case .success(.moved): break
        // If its directory is gone or was renamed, the next attempt finds that out. The file may be
        // in it already.
        case .success(.exists): retries.insert(row.task)
        case .failure(let error) where error.code == .notFound: retries.insert(row.task)
        case .success(.changed(.some)): changedHere.append(row.path)
        case .success(.changed(nil)): isMissing(row.task, at: row.path)
        case .failure(let error): noteExport(row.task, at: row.path, error)
        }
    }

    func announceMoves(_ moves: [(from: TaskPath, to: TaskPath)]) async throws {
        try await client.transaction { try SyncTables($0).setAnnouncedMoves(moves) }
    }

    /// Removes the record of moves that were not made.
    func takeBackMoves() async throws {
        try await client.transaction { try SyncTables($0).setAnnouncedMoves([]) }
    }

    /// Records that `from`, and everything beneath it, has moved to `to`.
    ///
    /// - Parameter announced: The announced moves that are still to be recorded.
    func noteMove(
        _ from: TaskPath, to: TaskPath, announced: [(from: TaskPath, to: TaskPath)] = []
    ) async throws {
        let files = known(beneath: from).compactMap { path in index[path].map { (path, $0) } }
        let directories = lists.paths.filter { $0.value.isBeneath(from) }.mapValues { $0.moved(from: from, to: to) }
        let list = lists.id(to.parent)
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for (path, entry) in files {
                guard var row = try tables.file(entry.task) else { continue }
                row.path = path.moved(from: from, to: to)
                // A file moves to another directory because its list has changed.
                if path == from, from.parent != to.parent { row.list = list }
                try tables.put(row)
            }
            for (list, path) in directories { try tables.put(list: list, at: path) }
            try tables.setAnnouncedMoves(announced)
        }
        for (path, entry) in files { index.set(path.moved(from: from, to: to), entry) }
        for (list, path) in directories { lists.set(list, path) }
        unidentified = unidentified.mapValues { Set($0.map { $0.moved(from: from, to: to) }) }
    }

    /// Returns the known files at a path or beneath it.
    private func known(beneath path: TaskPath) -> [TaskPath] {
        path.kind(isDirectory: false) == .taskFile && index[path] != nil ? [path] : index.paths(beneath: path)
    }

    /// Records moves that were made but not recorded when a run ended. If their paths cannot be
    /// examined now, the next caller that reads files tries again.
    func finishMoves() async throws {
        let (announced, left) = try await client.reading { transaction in
            (try SyncTables(transaction).announcedMoves(), try SyncTables(transaction).unfinishedMoves())
        }
        // Moves that are tried again in the meantime are recorded again.
        let new = announced.filter { move in !left.contains { $0 == move } }
        unfinishedMoves = []
        var unrecorded = new
        for move in left + new {
            guard canLook(at: move.from), canLook(at: move.to) else {
                unfinishedMoves.append(move)
                continue
            }
            unrecorded.removeAll { $0 == move }
            try await finishMove(move.from, to: move.to, announced: unrecorded)
        }
        guard !announced.isEmpty || unfinishedMoves.count != left.count else { return }
        try await client.transaction { [unfinishedMoves] transaction in
            try SyncTables(transaction).setAnnouncedMoves([])
            try SyncTables(transaction).setUnfinishedMoves(unfinishedMoves)
        }
    }

    private func finishMove(
        _ from: TaskPath, to: TaskPath, announced: [(from: TaskPath, to: TaskPath)]
    ) async throws {
        try removeOriginal(from, copiedTo: to)
        let isFree = known(beneath: to).isEmpty && lists.id(to) == nil
        guard folder.isAbsent(from), !folder.isAbsent(to), isFree else { return }
        // The move may have been made just before the process died. If it were recorded and then
        // undone by a power cut, it would look like a move by the user.
        folder.synchronize([from, to])
        try await noteMove(from, to: to, announced: announced)
        // The new name of a directory may have been temporary.
        let database = try await client.reading { $0.databaseName }
        for list in lists.paths.filter({ $0.value.isBeneath(to) }).keys {
            retriedLists.insert(try DocumentName(list: list, in: database))
        }
        if to.kind(isDirectory: false) == .taskFile { moveAttachments(from: from, to: to) }
    }

    /// Removes the original of a file that was moved to another file system, which copies it: an
    /// interrupted run may have left both. The original goes to the local trash if it is still
    /// equal to the copy.
    private func removeOriginal(_ from: TaskPath, copiedTo to: TaskPath) throws {
        guard let original = try? folder.read(from), let copy = try? folder.read(to),
            !original.stamp.isFile(of: copy.stamp), original.bytes == copy.bytes,
            original.stamp.modified == copy.stamp.modified, let task = index[from]?.task,
            try folder.identifier(to).map({ TaskID($0) }) ?? task == task
        else { return }
        _ = try folder.trash([TrashItem(path: from, expecting: .stamp(original.stamp))])
    }

    /// Whether it can be found out what is at a path. In a list whose file system is not mounted,
    /// absent files say nothing.
    private func canLook(at path: TaskPath) -> Bool {
        guard !isInCoveredList(path), !isReplaced(path.parent) else { return false }
        do throws(FolderError) {
            _ = try folder.stamp(path)
            return true
        } catch {
            return error.code == .wrongKind || error.code == .blockedParent
        }
    }

    /// Checks a file again that was new in a directory when Ferry renamed it: the event has the old
    /// name only.
    func lookAgain(ifMovedWithItsDirectory path: TaskPath) {
        if ownMoves.contains(where: { path.isBeneath($0.from) }), folder.isAbsent(path) { changes.askForScan() }
    }

    /// Whether the rename of a directory is one by Ferry itself; each is reported once. If the
    /// directory that contains it was just renamed as well, the event has the old name of that.
    func isOwnMove(_ from: TaskPath, _ to: TaskPath) -> Bool {
        ownMoves.removeAll { $0.time + .seconds(60) < environment.now() }
        let own = ownMoves.indices.filter { ownMoves[$0].from == from }
        let exact = own.first { ownMoves[$0].to == to }
        let isElsewhere = exact == nil && !own.isEmpty && (try? folder.hasDirectory(to)) == false
        let other = isElsewhere ? own.first { (try? folder.hasDirectory(ownMoves[$0].to)) == true } : nil
        guard let place = exact ?? other else { return false }
        ownMoves.remove(at: place)
        return true
    }
}

import DocumentClient
import DocumentModel
import SystemIO
import TaskFolder
import TaskModel

/// Turns changes of directories into changes of lists.
extension TaskSync {
    /// Returns the list of a directory, which is created if the directory is new; nil for the root.
    func list(at path: TaskPath) async throws -> ListID? {
        guard !path.isRoot, path.kind(isDirectory: true) == .list else { return nil }
        if let known = lists.id(path) { return known }
        // Files that are written into the directory must not disappear with it in a power cut.
        folder.synchronize([path])
        let userID = configuration.userID
        let former = ListIndex.formerIDs(named: path.string, of: userID).filter { lists.path($0) == nil }
        let free = ListIndex.ids(named: path.string, of: userID).filter { lists.path($0) == nil }
        let ids = free + [ListID("\(userID).\(DocumentID.make(in: environment))")]
        let taken = Set(lists.paths.keys)
        let returned = try await formerList(at: path)
        let view = try await client.transaction { transaction in
            if let returned {
                let name = try DocumentName(list: returned, in: transaction.databaseName)
                let view = try transaction.document(name)
                if view.exists {
                    try SyncTables(transaction).put(list: returned, at: path)
                    return view
                }
            }
            // Other machines may make it again, too, for what they have in it.
            let deleted = try SyncTables(transaction).deletedLists(named: path.string).filter {
                !taken.contains($0) && $0.rawValue.hasPrefix("\(userID).")
            }
            for id in former + deleted + ids {
                let name = try DocumentName(list: id, in: transaction.databaseName)
                let view = try transaction.document(name)
                if !view.exists, former.contains(id) { continue }
                // The list was created with this name and has another one now, or belongs to
                // another user.
                let owner = TaskList(fields: view.fields).userId
                if view.exists, !Self.isNamed(view, path.string) || owner ?? userID != userID { continue }
                if !view.exists { try Self.make(list: name, called: path.string, userID, in: transaction) }
                try SyncTables(transaction).put(list: id, at: path)
                return try transaction.document(name)
            }
            throw TaskSyncError(.invalid, "There are too many lists that were made as '\(path)'.")
        }
        let list = view.name.list
        lists.set(list, path)
        vanishedLists[list] = nil
        problems["list \(list)"] = nil
        learn(list: view)
        // The list was renamed elsewhere while its directory was missing, or the name belongs to
        // another list.
        let number = listBook.number(of: list)
        let right = try? ListIndex.directory(named: TaskList(fields: view.fields).name, from: number) { _ in false }
        if right != path { retriedLists.insert(view.name) }
        retryMisplaced(in: list)
        try await markLists(at: [path])
        return list
    }

    /// Returns the former list of a directory that is back, for example after a power cut with
    /// files that are still known there, while the deletes of its files are held, or recreated with
    /// the name of the list, as by `git switch`.
    private func formerList(at path: TaskPath) async throws -> ListID? {
        let lost = vanishedLists.filter { $0.value == path && carriedLists[$0.key] == nil }.keys
        let same = lost.filter { UTF8Order.areEqual(catalog.listNames[$0] ?? "", path.string) }
        if let list = same.min() { return list }
        // If no list lacks a directory, many new directories do not each cause a search of all
        // files.
        guard catalog.listNames.keys.contains(where: { lists.path($0) == nil }) else { return nil }
        let known = index.paths(beneath: path).filter { $0.parent == path }.sorted().first { file in
            guard let entry = index[file] else { return false }
            return held[entry.task] != nil || (try? folder.stamp(file))?.isFile(of: entry.stamp) == true
        }
        guard let task = known.flatMap({ index[$0]?.task }) else { return nil }
        let list = try await client.reading { try SyncTables($0).file(task)?.list }
        return list.flatMap { lists.path($0) == nil ? $0 : nil }
    }

    /// Records that a directory has moved with everything in it; its lists are renamed.
    func directoryMoved(_ from: TaskPath, _ to: TaskPath) async throws {
        unexplored = unexplored.map { $0.moved(from: from, to: to) }
        outOfSight = outOfSight.mapValues { $0.moved(from: from, to: to) }
        moveReplacements(from: from, to: to)
        attachments.removeOrphans(beneath: from)
        if from.kind(isDirectory: true) == .attachments || to.kind(isDirectory: true) != .list {
            if to.kind(isDirectory: true) == .attachments { movedAttachmentDirectories.insert(to) }
            // The task that had these attachments has lost them, unless its file moves to the new
            // name as well.
            if from.kind(isDirectory: true) == .attachments { noteAbsent(beneath: from) }
            return
        }
        // Obstacles in the directory are checked again under their new paths.
        forgetProblems(of: from)
        // The event of a move by Ferry itself. Its old name may have been given to another list
        // since.
        if isOwnMove(from, to) { return }
        unidentified = unidentified.mapValues { Set($0.map { $0.moved(from: from, to: to) }) }
        // The old name may have been found missing before the rename was reported. A directory that
        // another list has taken over since is not renamed, and files that left before do not come
        // back.
        let missed = carryMissedLists(from, to)
        let known = lists.paths.filter { $0.value.isBeneath(from) }
        let movedLists = known.mapValues { (old: $0, new: $0.moved(from: from, to: to)) }
            .merging(missed) { known, _ in known }
        for list in movedLists.keys {
            vanishedLists[list] = nil
            missedLists[list] = nil
        }
        var movedFiles = index.paths(beneath: from)
        if (try? folder.hasDirectory(from)) == true {
            // Ferry recreated the old directory for files that it wrote before the rename was
            // reported, and a user may have saved one of them since.
            let stayed = movedFiles.filter { path in
                guard let entry = index[path], let there = try? folder.stamp(path) else { return false }
                return there.isFile(of: entry.stamp) || folder.isAbsent(path.moved(from: from, to: to))
            }
            retries.formUnion(stayed.compactMap { index[$0]?.task })
            movedFiles = Array(Set(movedFiles).subtracting(stayed))
        }
        // Another file replaced this one in the old directory, and was read before the rename was
        // reported. This file has not moved.
        let replaced = movedFiles.filter { path in
            let new = path.moved(from: from, to: to)
            guard let entry = index[path], let other = index[new], let there = try? folder.stamp(new) else {
                return false
            }
            return there.isFile(of: other.stamp) && !there.isFile(of: entry.stamp)
        }
        noteMissing(replaced)
        movedFiles.removeAll(where: Set(replaced).contains)
        folder.synchronize([from, to])
        let fileMoves = movedFiles.compactMap { path in index[path].map { ($0.task, path.moved(from: from, to: to)) } }
        let listMoves = movedLists.map { ($0.key, old: $0.value.old, $0.value.new) }
        // The lists that lose these directories, or that a scan created for them before the rename
        // was reported.
        var heirs: [ListID: ListID] = [:]
        for (list, _, path) in listMoves {
            if let other = lists.id(path), movedLists[other] == nil {
                heirs[other] = list
                vanishedLists[other] = path
            }
        }
        let unmade = unmadeLists(beneath: from, movedTo: to)
        let strays = heirs.isEmpty ? [] : index.paths(beneath: to).filter { !folder.isAbsent($0) }
        let heirless = strays.compactMap { index[$0]?.task }
        let (environment, hosts, userID, inherited) = (environment, hosts, configuration.userID, heirs)
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for (task, path) in fileMoves {
                guard var row = try tables.file(task) else { continue }
                row.path = path
                try tables.put(row)
            }
            for task in heirless { try Self.take(task, toHeirOf: inherited, in: transaction) }
            var renames: [Mutation] = []
            for (list, old, path) in listMoves {
                try tables.put(list: list, at: path)
                let name = try DocumentName(list: list, in: transaction.databaseName)
                let view = try transaction.document(name)
                guard view.exists else {
                    // The list was deleted elsewhere while its directory here was not empty: an
                    // edit survives a delete.
                    if hosts[list] == nil, ListIndex.mayMake(list, userID) {
                        try Self.make(list: name, called: path.string, userID, in: transaction)
                    }
                    continue
                }
                if Self.isNamed(view, path.string) { continue }
                let rename = Mutation(
                    .merge, name, fields: ["name": .string(path.string)], mask: [FieldPath(key: "name")],
                    companions: Self.displaced(
                        from: view, at: old, id: DocumentID.make(in: environment), replica: transaction.replica))
                // A rename that the owner of a list refuses must not prevent the others.
                if hosts[list] == nil { renames.append(rename) } else { try transaction.append(rename) }
            }
            for (list, path) in unmade {
                let name = try DocumentName(list: list, in: transaction.databaseName)
                guard try transaction.document(name).exists else { continue }
                renames.append(
                    Mutation(.merge, name, fields: ["name": .string(path.string)], mask: [FieldPath(key: "name")]))
            }
            // Other machines must get these together: they would otherwise move a directory out of
            // this one before it is renamed.
            for start in stride(from: 0, to: renames.count, by: Self.renamesAtOnce) {
                try transaction.append(asOne: Array(renames[start...].prefix(Self.renamesAtOnce)))
            }
        }
        for path in movedFiles {
            guard let entry = index[path] else { continue }
            index.set(path.moved(from: from, to: to), entry)
        }
        for (list, _, path) in listMoves { lists.set(list, path) }
        let database = try await client.reading { $0.databaseName }
        for list in unmade.keys { retriedLists.insert(try DocumentName(list: list, in: database)) }
        moveStrandedAttachments(from, to)
        retryMisnamedLists()
        if listMoves.isEmpty {
            // The directory may have moved on, for example in an exchange of names, which is
            // reported next.
            if (try? folder.hasDirectory(to)) == true { _ = try await list(at: to) }
            // The directory is unknown and may not be empty, for example because its name was given
            // to another one before this was reported.
            changes.askForScan()
        }
    }

    /// Returns the new paths of lists that have arrived for a directory of a list and have no directories
    /// yet, when that directory has moved. They follow it, because otherwise it would be created again.
    private func unmadeLists(beneath from: TaskPath, movedTo to: TaskPath) -> [ListID: TaskPath] {
        guard lists.id(from) != nil, folder.isAbsent(from) else { return [:] }
        var unmade: [ListID: TaskPath] = [:]
        for (list, name) in catalog.listNames
        where lists.path(list) == nil && vanishedLists[list] == nil && hosts[list] == nil {
            guard let path = try? TaskPath(name), path != from, path.isBeneath(from) else { continue }
            unmade[list] = path.moved(from: from, to: to)
        }
        return unmade
    }

    /// Returns lists that were found missing before the rename of a directory above them was
    /// reported, and that have moved with it, with their old and new paths. A list whose directory
    /// is not there left before, or moves on with the next rename.
    private func carryMissedLists(_ from: TaskPath, _ to: TaskPath) -> [ListID: (old: TaskPath, new: TaskPath)] {
        carriedLists = carriedLists.filter { vanishedLists[$0.key] != nil }
        var moved: [ListID: (old: TaskPath, new: TaskPath)] = [:]
        for (list, path) in vanishedLists {
            let place = carriedLists[list] ?? path
            guard lists.id(place) == nil, place.isBeneath(from) else { continue }
            let new = place.moved(from: from, to: to)
            if (try? folder.hasDirectory(new)) == true { moved[list] = (path, new) } else { carriedLists[list] = new }
        }
        return moved
    }

    /// Each rename may take two writes with its history, and a commit has at most 500.
    private static let renamesAtOnce = 200

    /// Records that a task's file is in the directory of another list without having moved.
    private static func take(
        _ task: TaskID, toHeirOf heirs: [ListID: ListID], in transaction: ReplicaTransaction
    ) throws {
        let tables = SyncTables(transaction)
        guard var row = try tables.file(task), let list = row.list, let heir = heirs[list] else { return }
        row.list = heir
        try tables.put(row)
        let name = try DocumentName(task: task, in: transaction.databaseName)
        guard try transaction.document(name)["listId"] == .string(list.rawValue) else { return }
        try transaction.append(
            Mutation(
                .merge, name, fields: ["listId": .string(heir.rawValue)], mask: [FieldPath(key: "listId")],
                transforms: [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)]
            ).signed(by: transaction.replica))
    }

    /// Deletes the list of a removed directory if it has no tasks; otherwise it waits until they
    /// are gone.
    func directoryRemoved(_ path: TaskPath) async throws {
        attachments.removeOrphans(beneath: path)
        // Obstacles in the directory are gone with it.
        forgetProblems(of: path)
        // The whole directory may have moved, which is not reported for its files.
        noteAbsent(beneath: path)
        // If a link has replaced a directory, the lists beneath it get no events of their own.
        let gone = lists.paths.filter { _, directory in
            directory == path || directory.isBeneath(path) && (try? folder.hasDirectory(directory)) == false
        }
        guard !gone.isEmpty else { return }
        for (list, directory) in gone {
            lists.remove(list)
            vanishedLists[list] = directory
        }
        retryMisnamedLists()
        try await client.transaction { transaction in
            for list in gone.keys { try SyncTables(transaction).remove(list: list) }
        }
        try await settleVanishedLists()
    }

    /// Finds lists whose directories are gone without an event: a directory that was renamed before
    /// it was watched appears only with its new name.
    func forgetMissingLists() async throws {
        guard !isReadopted else { return }
        for (list, path) in lists.paths where (try? folder.hasDirectory(path)) == false {
            // The directory may have just been renamed, and must not be recreated before that is
            // reported.
            _ = isRecentlyMissed(list)
            try await directoryRemoved(path)
        }
    }

    /// Deletes the lists whose directories are gone as soon as they contain no tasks.
    func settleVanishedLists() async throws {
        guard !vanishedLists.isEmpty else { return }
        vanishedLists = vanishedLists.filter { lists.path($0.key) == nil }
        let gone = vanishedLists.filter { !catalog.hasLiving(inList: $0.key) && !isNewlyMissed($0.key) }
        guard !gone.isEmpty else { return }
        for list in gone.keys {
            vanishedLists[list] = nil
            missedLists[list] = nil
            if hosts[list] != nil { try await leave(list) }
        }
        retryMisnamedLists()
        let own = gone.filter { hosts[$0.key] == nil }
        let renamed = try await client.transaction { transaction in
            var renamed: [DocumentName] = []
            for (list, path) in own {
                let name = try DocumentName(list: list, in: transaction.databaseName)
                let view = try transaction.document(name)
                // The user who removed the directory did not know the list's new name, which
                // therefore stays, as an edit does against a delete.
                if view.exists, !Self.isShown(view, at: path) {
                    renamed.append(name)
                } else if view.exists {
                    try transaction.append(.delete(name))
                    try SyncTables(transaction).setNameOfDeleted(list: list, TaskList(fields: view.fields).name)
                }
            }
            return renamed
        }
        retriedLists.formUnion(renamed)
    }
}

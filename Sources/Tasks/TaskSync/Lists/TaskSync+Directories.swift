import DocumentClient
import DocumentModel
import SystemIO
import TaskFolder
import TaskModel

/// What happens to directories, which are lists.
extension TaskSync {
    /// The list of a directory, made if it is new; nil for the root.
    func list(at path: TaskPath) async throws -> String? {
        guard !path.isRoot, path.kind(isDirectory: true) == .list else { return nil }
        if let known = lists.id(path) { return known }
        // What is written into it must not go with it in a power cut.
        folder.synchronize([path])
        let userID = configuration.userID
        let former = ListIndex.formerIDs(named: path.string, of: userID).filter { lists.path($0) == nil }
        let free = ListIndex.ids(named: path.string, of: userID).filter { lists.path($0) == nil }
        let ids = free + ["\(userID).\(DocumentID.make(in: environment))"]
        let returned = try await formerList(at: path)
        let view = try await client.transaction { transaction in
            if let returned {
                let name = try DocumentName(database: transaction.databaseName, collection: "lists", id: returned)
                let view = try transaction.document(name)
                if view.exists {
                    try SyncTables(transaction).put(list: returned, at: path)
                    return view
                }
            }
            for id in former + ids {
                let name = try DocumentName(database: transaction.databaseName, collection: "lists", id: id)
                let view = try transaction.document(name)
                if !view.exists, former.contains(id) { continue }
                // Made under this name once, and called otherwise by now; or another user's.
                let owner = TaskList(fields: view.fields).userId
                if view.exists, !Self.isNamed(view, path.string) || owner ?? userID != userID { continue }
                if !view.exists { try Self.make(list: name, called: path.string, userID, in: transaction) }
                try SyncTables(transaction).put(list: id, at: path)
                return try transaction.document(name)
            }
            throw TaskSyncError(.invalid, "There are too many lists that were made as '\(path)'.")
        }
        let list = view.name.id
        lists.set(list, path)
        vanishedLists[list] = nil
        problems["list \(list)"] = nil
        learn(list: view)
        // Renamed elsewhere while its directory was away, or another list's by right.
        let number = listBook.number(of: list)
        let right = try? ListIndex.directory(named: TaskList(fields: view.fields).name, from: number) { _ in false }
        if right != path { retriedLists.insert(view.name) }
        retryMisplaced(in: list)
        return list
    }

    /// The list of a directory that has come back: as after a power cut with files that are still
    /// known there, or while their deletes are held; or made again, as by `git switch`, under the
    /// name that the list has.
    private func formerList(at path: TaskPath) async throws -> String? {
        let lost = vanishedLists.filter { $0.value == path && carriedLists[$0.key] == nil }.keys
        let same = lost.filter { UTF8Order.areEqual(catalog.listNames[$0] ?? "", path.string) }
        if let list = same.min() { return list }
        // Where no list is without a directory, none of many new ones needs a look at all files.
        guard catalog.listNames.keys.contains(where: { lists.path($0) == nil }) else { return nil }
        let known = index.paths(beneath: path).filter { $0.parent == path }.sorted().first { file in
            guard let entry = index[file] else { return false }
            return held[entry.task] != nil || (try? folder.stamp(file))?.isFile(of: entry.stamp) == true
        }
        guard let task = known.flatMap({ index[$0]?.task }) else { return nil }
        let list = try await client.reading { try SyncTables($0).file(task)?.list }
        return list.flatMap { lists.path($0) == nil ? $0 : nil }
    }

    /// Everything beneath moves along; lists are renamed.
    func directoryMoved(_ from: TaskPath, _ to: TaskPath) async throws {
        unexplored = unexplored.map { $0.moved(from: from, to: to) }
        unidentified = unidentified.mapValues { Set($0.map { $0.moved(from: from, to: to) }) }
        outOfSight = outOfSight.mapValues { $0.moved(from: from, to: to) }
        attachments.removeOrphans(beneath: from)
        if from.kind(isDirectory: true) == .attachments || to.kind(isDirectory: true) != .list {
            if to.kind(isDirectory: true) == .attachments { movedAttachmentDirectories.insert(to) }
            // The task that had them has them no longer, unless it follows to the new name.
            if from.kind(isDirectory: true) == .attachments { noteAbsent(beneath: from) }
            return
        }
        // What stood in the way there is looked at anew under the new names.
        forgetProblems(of: from)
        // The echo of a move of Ferry's own, after which the old name may have been given to another list.
        if isOwnMove(from, to) { return }
        // The old name may have been missed before the rename was told of. What another list has
        // since taken over is not renamed, and what went from within before does not come back.
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
            // Made anew by Ferry for what it put there before the rename was told of, and somebody
            // may have saved since.
            let stayed = movedFiles.filter { path in
                guard let entry = index[path], let there = try? folder.stamp(path) else { return false }
                return there.isFile(of: entry.stamp) || folder.isAbsent(path.moved(from: from, to: to))
            }
            retries.formUnion(stayed.compactMap { index[$0]?.task })
            movedFiles = Array(Set(movedFiles).subtracting(stayed))
        }
        // Another one was put in its place there, and read before the rename was told of: this one has not come along.
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
        // Lists of directories that these take the places of, or that a scan made of them before it
        // was told of the rename.
        var heirs: [String: String] = [:]
        for (list, _, path) in listMoves {
            if let other = lists.id(path), movedLists[other] == nil {
                heirs[other] = list
                vanishedLists[other] = path
            }
        }
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
                let name = try DocumentName(database: transaction.databaseName, collection: "lists", id: list)
                let view = try transaction.document(name)
                guard view.exists else {
                    // Deleted elsewhere, with something left in it here: an edit survives a delete.
                    if hosts[list] == nil, ListIndex.mayMake(list, userID) {
                        try Self.make(list: name, called: path.string, userID, in: transaction)
                    }
                    continue
                }
                if Self.isNamed(view, path.string) { continue }
                let rename = Mutation(
                    .merge, name, fields: ["name": .string(path.string)], mask: [FieldPath(key: "name")],
                    companions: Self.displaced(
                        from: view, at: old, id: DocumentID.make(in: environment), replica: transaction.replicaID))
                // What its host refuses must not keep the others from their names.
                if hosts[list] == nil { renames.append(rename) } else { try transaction.append(rename) }
            }
            // Others are to see them at once: a directory within this one is not moved out of it before it is renamed.
            for start in stride(from: 0, to: renames.count, by: Self.renamesAtOnce) {
                try transaction.append(asOne: Array(renames[start...].prefix(Self.renamesAtOnce)))
            }
        }
        for path in movedFiles {
            guard let entry = index[path] else { continue }
            index.set(path.moved(from: from, to: to), entry)
        }
        for (list, _, path) in listMoves { lists.set(list, path) }
        moveStrandedAttachments(from, to)
        retryMisnamedLists()
        if listMoves.isEmpty {
            // Unless it has gone on, as where directories exchange their names: that is told next.
            if (try? folder.hasDirectory(to)) == true { _ = try await list(at: to) }
            // Nothing is known of it, and something is in it perhaps: as where the name was given
            // to another one before this was told.
            changes.askForScan()
        }
    }

    /// Lists that were missed before the rename of a directory above them was told of, and have
    /// moved with it, each with its old and its new path. One that is not there has gone before, or
    /// goes on from there with the next rename.
    private func carryMissedLists(_ from: TaskPath, _ to: TaskPath) -> [String: (old: TaskPath, new: TaskPath)] {
        carriedLists = carriedLists.filter { vanishedLists[$0.key] != nil }
        var moved: [String: (old: TaskPath, new: TaskPath)] = [:]
        for (list, path) in vanishedLists {
            let place = carriedLists[list] ?? path
            guard lists.id(place) == nil, place.isBeneath(from) else { continue }
            let new = place.moved(from: from, to: to)
            if (try? folder.hasDirectory(new)) == true { moved[list] = (path, new) } else { carriedLists[list] = new }
        }
        return moved
    }

    /// With its history each may take two writes, of which remotes take 500 at once.
    private static let renamesAtOnce = 200

    /// The file of a task is in the directory of another list than it was, without having moved.
    private static func take(
        _ task: String, toHeirOf heirs: [String: String], in transaction: ReplicaTransaction
    ) throws {
        let tables = SyncTables(transaction)
        guard var row = try tables.file(task), let list = row.list, let heir = heirs[list] else { return }
        row.list = heir
        try tables.put(row)
        let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: task)
        guard try transaction.document(name)["listId"] == .string(list) else { return }
        try transaction.append(
            Mutation(
                .merge, name, fields: ["listId": .string(heir)], mask: [FieldPath(key: "listId")],
                transforms: [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)]
            ).signed(by: transaction.replicaID))
    }

    /// A list without tasks goes with its directory; one with tasks waits until they are gone.
    func directoryRemoved(_ path: TaskPath) async throws {
        attachments.removeOrphans(beneath: path)
        // What stood in the way there has gone with it.
        forgetProblems(of: path)
        // It may have gone as a whole, by a rename, of which its files do not tell.
        noteAbsent(beneath: path)
        // A list beneath whose directory a link had replaced has no events of its own.
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

    /// A directory that was renamed before it was watched shows only under its new name.
    func forgetMissingLists() async throws {
        guard !isReadopted else { return }
        for (list, path) in lists.paths where (try? folder.hasDirectory(path)) == false {
            // Or it was renamed in this moment, and is not made anew before that could be told.
            _ = isRecentlyMissed(list)
            try await directoryRemoved(path)
        }
    }

    /// Deletes the lists whose directories are gone as soon as no task is in them any more.
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
                let name = try DocumentName(database: transaction.databaseName, collection: "lists", id: list)
                let view = try transaction.document(name)
                // Whoever removed the directory did not know of a new name: that stands, as an edit
                // does against a delete.
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

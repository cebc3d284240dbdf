import DocumentClient
import DocumentModel
import Merge
import SystemIO
import TaskFolder
import TaskModel

/// Turns changes of lists into changes of directories.
extension TaskSync {
    /// Returns the directory of a living task's list, which is created if it is missing; the root
    /// if the list is unknown; nil if events about the directory have to be awaited.
    func directory(ofList list: ListID?) async throws -> TaskPath? {
        guard let list else { return .root }
        if lists.path(list) == nil {
            if isNewlyMissed(list) { return nil }
            let database = try await client.reading { $0.databaseName }
            if let name = try? DocumentName(list: list, in: database) {
                try await bringBack(name)
                if try await exportList(client.document(name)) { return nil }
            }
        }
        return lists.path(list) ?? .root
    }

    /// Recreates a list that was deleted and contains a living task again, with its former name.
    private func bringBack(_ name: DocumentName) async throws {
        let userID = configuration.userID
        guard ListIndex.mayMake(name.list, userID) else { return }
        // It was deleted elsewhere before the loss of its directory here was settled.
        let lost = hosts[name.list] == nil ? vanishedLists[name.list]?.string : nil
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            guard let former = try tables.nameOfDeleted(list: name.list) ?? lost else { return }
            if try !transaction.document(name).exists {
                try Self.make(list: name, called: former, userID, in: transaction)
            }
            try tables.setNameOfDeleted(list: name.list, nil)
        }
    }

    /// Creates or renames the directories of lists. Directories within others follow after these,
    /// so that they may be in place already. If a directory is missing, its list waits until it is
    /// clear whether the list is gone as well.
    ///
    /// All changed lists that were not processed yet are handled together: one of them may be about
    /// to move into another, whose new name arrived at the same time.
    func exportLists(_ names: Set<DocumentName>) async throws {
        guard !names.isEmpty else { return }
        let views = try await client.reading { transaction in
            let changed = try transaction.changes(for: Self.consumer, limit: 10_000).map(\.name)
            return try names.union(changed.filter { $0.collectionPath == "lists" }).map { name in
                let view = try transaction.document(name)
                let parts = view.exists ? TaskList(fields: view.fields).name.split(separator: "/") : []
                return (view: view, depth: parts.count)
            }
        }
        for (view, _) in views.sorted(by: { ($0.depth, $0.view.name.id) < ($1.depth, $1.view.name.id) }) {
            // This is the state of all lists at one moment; later changes are in the feed.
            if vanishedLists[view.name.list] == nil {
                try await exportList(view)
            } else {
                try await followSharing(of: view)
                learn(list: view)
            }
        }
    }

    /// Creates or renames the directory of a list. A directory that cannot be created is tried
    /// again with the retries.
    ///
    /// - Returns: Whether the list's tasks have to wait, for events about the directories above it
    ///   or for the disk.
    @discardableResult
    private func exportList(_ document: DocumentSnapshot) async throws -> Bool {
        var view = document
        let name = view.name
        guard !view.isAwaited else { return false }
        let host = hosts[name.list]
        try await followSharing(of: view)
        // A list that is no longer shared is no longer here.
        if host != nil, hosts[name.list] == nil { view = try await client.document(name) }
        learn(list: view)
        let list = name.list
        problems["list \(list)"] = nil
        let isUnfollowed = view.exists && !isUsable(view)
        if isUnfollowed != unfollowed.contains(name) {
            if isUnfollowed { unfollowed.insert(name) } else { unfollowed.remove(name) }
        }
        guard view.exists, !isUnfollowed else { return false }
        let wanted = TaskList(fields: view.fields).name
        let current = lists.path(list)
        let first = listBook.number(of: list)
        let isExact = ListIndex.isExact(wanted)
        if first == 1 || !isExact, let current, current.string.utf8.elementsEqual(wanted.utf8) { return false }
        let right = try ListIndex.directory(named: wanted, from: first) { _ in false }
        let inherits = isLeft(right, to: list)
        let target = try ListIndex.directory(named: wanted, from: first) { candidate in
            // The event about a missing directory is still to come, and must not be taken for one
            // about this directory.
            let former = vanishedLists.first { $0.value == candidate && keeps($0.key, candidate) }
            let owner = lists.id(candidate) ?? former?.key
            return candidate != current && !(inherits && candidate == right) && owner.map { $0 != list } ?? false
        }
        if target == right { misnamedLists.remove(name) } else { misnamedLists.insert(name) }
        guard target != current else { return false }
        guard try await makeLists(above: target) else {
            retriedLists.insert(name)
            return true
        }
        do {
            if let current, !inherits, (try? folder.hasDirectory(current)) == true {
                if try await !emptyParent(target, into: current), try folder.hasDirectory(target) {
                    // A user has just created a directory with that name: it is another list, which
                    // needs another name.
                    _ = try await self.list(at: target)
                    retriedLists.insert(name)
                    return false
                }
                try await announceMoves([(current, target)])
                guard case .moved = try folder.move(current, to: target, expecting: .anything) else {
                    try await takeBackMoves()
                    retriedLists.insert(name)
                    return false
                }
                ownMoves.append((current, target, environment.now()))
                try await noteMove(current, to: target)
                removeIfEmpty(current.parent)
                retryLists(within: target, name.database)
            } else {
                if !inherits, current != nil && isRecentlyMissed(list) || isNewlyMissed(list) {
                    retriedLists.insert(name)
                    return false
                }
                try folder.makeDirectory(target)
                if let owner = lists.id(target) { try await forget(deleted: owner, at: target) }
                lists.set(list, target)
                vanishedLists[list] = nil
                try await client.transaction { try SyncTables($0).put(list: list, at: target) }
                try await markLists(at: [target])
                if let current {
                    // The list's tasks and the lists within it follow.
                    retryLists(within: current, name.database)
                    removeIfEmpty(current)
                }
            }
        } catch let error as FolderError {
            note(
                SyncProblem(code: "list-not-made", subject: wanted, message: error.message), for: "list \(list)")
            // A name that no directory can have is not tried again before the document has another
            // one.
            if error.isTransient { retriedLists.insert(name) }
            // The tasks wait with their list: one that moved to the root would stay there when the
            // next attempt creates the directory.
            return error.isTransient && error.code != .wrongKind && error.code != .blockedParent
        }
        missedLists[list] = nil
        retryMisplaced(in: list)
        retryMisnamedLists(but: name)
        return false
    }

    /// Creates a directory and those above it. If a list has the right to a directory above, that
    /// becomes its directory or, if events about it are expected, is awaited. A directory without a
    /// list would count as another list with that name, which would have to be moved away with all
    /// its contents, and so on without end.
    ///
    /// - Returns: Whether nothing has to be awaited.
    private func makeLists(above directory: TaskPath) async throws -> Bool {
        let parent = directory.parent
        guard !parent.isRoot, folder.isAbsent(parent) else { return true }
        guard try await makeLists(above: parent) else { return false }
        let lost = vanishedLists.filter { $0.value == parent }.keys.sorted()
        if lost.contains(where: isNewlyMissed) { return false }
        for list in lost where keeps(list, parent) {
            _ = try await self.directory(ofList: list)
        }
        guard folder.isAbsent(parent) else { return true }
        guard let owner = listBook.owner(of: parent.string) else {
            parents[parent] = environment.now()
            return true
        }
        if isNewlyMissed(owner) { return false }
        let database = try await client.reading { $0.databaseName }
        try await exportList(client.document(DocumentName(list: owner, in: database)))
        return !folder.isAbsent(parent)
    }

    /// Makes room for a list's directory at a place where a directory was created only for lists
    /// within it, whose documents arrived before that of their parent. They move into the list's
    /// directory, and back with it.
    ///
    /// - Returns: Whether there was such a directory and it is gone.
    private func emptyParent(_ parent: TaskPath, into directory: TaskPath) async throws -> Bool {
        guard parents[parent] != nil, lists.id(parent) == nil else { return false }
        let depth = parent.components.count
        let within = lists.paths.values.filter { $0 != parent && $0.isBeneath(parent) }
        for name in Set(within.map { String($0.components[depth]) }).sorted() {
            let (path, target) = (try parent.appending(name), try directory.appending(name))
            try await announceMoves([(path, target)])
            guard case .moved = try folder.move(path, to: target, expecting: .anything) else {
                try await takeBackMoves()
                return false
            }
            ownMoves.append((path, target, environment.now()))
            try await noteMove(path, to: target)
        }
        parents[parent] = nil
        return try folder.removeDirectoryIfEmpty(parent)
    }

    /// Whether a directory was recently created for lists within it. The document of its own list
    /// may arrive soon.
    func isParentOnly(_ directory: TaskPath) -> Bool {
        parents[directory].map { environment.now() < $0 + Self.parentTime } ?? false
    }

    private static let parentTime: Duration = .seconds(5)

    /// Creates lists for directories that were created for lists within them and belong to no other
    /// list by now.
    func settleParents() async throws {
        for directory in parents.keys.sorted() where !isParentOnly(directory) {
            parents[directory] = nil
            if (try? folder.hasDirectory(directory)) == true { _ = try await list(at: directory) }
        }
    }

    /// Whether a directory that a list has lost is reserved for it: an event about it is expected,
    /// or the list gets it again. A list that was renamed in the meantime gets its new directory
    /// instead, possibly beneath this one.
    private func keeps(_ list: ListID, _ lost: TaskPath) -> Bool {
        isNewlyMissed(list) || UTF8Order.areEqual(catalog.listNames[list] ?? lost.string, lost.string)
    }

    /// Whether a directory belongs to a deleted list, remains only because of other contents, and
    /// can become the directory of `list`.
    private func isLeft(_ directory: TaskPath, to list: ListID) -> Bool {
        guard let owner = lists.id(directory), owner != list, catalog.listNames[owner] == nil,
            !catalog.hasLiving(inList: owner), !isNewlyMissed(list)
        else { return false }
        return lists.path(list) == nil || (try? folder.hasDirectory(directory)) == true
    }

    /// Forgets the directory of a deleted list. Its name is remembered in case the list is
    /// recreated.
    private func forget(deleted list: ListID, at directory: TaskPath) async throws {
        lists.remove(list)
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            try tables.remove(list: list)
            try tables.setNameOfDeleted(list: list, directory.string)
        }
    }

    /// Whether the directory of a list was first found missing a moment ago. The event about it is
    /// expected and handled first.
    func isRecentlyMissed(_ list: ListID) -> Bool {
        let now = environment.now()
        let since = missedLists[list] ?? now
        missedLists[list] = since
        return now < since + .seconds(5)
    }

    /// Whether the directory of a list was found missing before, and not long ago.
    func isNewlyMissed(_ list: ListID) -> Bool { missedLists[list] != nil && isRecentlyMissed(list) }

    /// Whether nothing may be written into a directory yet because it is missing: a directory that
    /// is created at that moment would be taken for the list's. One that is missing for longer is
    /// created.
    ///
    /// - Parameter known: The results for directories that were checked already.
    func awaitsNews(of directory: TaskPath, _ known: inout [TaskPath: Bool]) throws(FolderError) -> Bool {
        guard let list = lists.id(directory) else { return false }
        if let known = known[directory] { return known }
        let isMissed = folder.isAbsent(directory)
        if !isMissed { missedLists[list] = nil }
        let awaits = isMissed && isRecentlyMissed(list)
        if isMissed, !awaits { try folder.makeDirectory(directory) }
        known[directory] = awaits
        return awaits
    }

    /// Records the contents of a list's document. Other lists whose names change as a result are
    /// renamed later.
    func learn(list view: DocumentSnapshot) {
        // Lists that are neither the user's own nor followed are not shown.
        guard !view.exists || isUsable(view) else { return }
        catalog.update(list: view)
        let name = view.exists ? TaskList(fields: view.fields).name : nil
        let affected = listBook.set(
            view.name.list,
            name.map {
                NameRequest(place: nil, title: $0, time: view.createTime, isExact: ListIndex.isExact($0))
            })
        if !view.exists {
            misnamedLists.remove(view.name)
            problems["list \(view.name.id)"] = nil
        }
        for id in affected where lists.path(id) != nil {
            if let name = try? DocumentName(list: id, in: view.name.database) {
                retriedLists.insert(name)
            }
        }
    }

    /// Retries the lists in a directory that has moved with all its contents, including lists that
    /// belong elsewhere.
    private func retryLists(within directory: TaskPath, _ database: DatabaseName) {
        for (list, path) in lists.paths where path != directory && path.isBeneath(directory) {
            guard !UTF8Order.areEqual(catalog.listNames[list] ?? "", path.string),
                let name = try? DocumentName(list: list, in: database)
            else { continue }
            retriedLists.insert(name)
        }
    }

    /// Retries the lists that had to take other names, because a directory was renamed or removed.
    func retryMisnamedLists(but name: DocumentName? = nil) {
        retriedLists.formUnion(misnamedLists.filter { $0 != name && lists.path($0.list) != nil })
    }

    /// Retries tasks that arrived before their list and are in the root, and those in the list's directory whose own
    /// list has lost it.
    ///
    /// - Parameter list: The list; nil for any.
    func retryMisplaced(in list: ListID? = nil) {
        if let list, let directory = lists.path(list) {
            retries.formUnion(index.tasks(in: directory).filter { catalog[$0].map { $0.list != list } ?? false })
        }
        if let list, !catalog.hasLiving(inList: list) { return }
        for task in catalog.livingBoxes {
            guard let own = task.entry.list, own == list ?? own, let directory = lists.path(own),
                let path = index.path(of: task.entry.id), path.parent != directory
            else { continue }
            retries.insert(task.entry.id)
        }
    }

    /// Returns the list of a file in the directory of `list`: nil if only its id is known.
    func knownList(_ list: ListID?) -> ListID? { list.flatMap { lists.path($0) == nil ? nil : $0 } }

    /// Removes the directory of a deleted list if it is empty. A list that has got tasks in the
    /// meantime is recreated, as by `importFiles`: the user who deleted it did not see them.
    func removeDeletedList(_ name: DocumentName) async throws {
        let list = name.list
        let view = try await client.document(name)
        guard let path = lists.path(list), !view.exists, !view.isAwaited else { return }
        if let view = try await makeAgain(deleted: name, at: path) { return learn(list: view) }
        guard (try? folder.removeDirectoryIfEmpty(path)) == true else {
            if deletedLists.insert(name).inserted { retryMisnamedLists() }
            return
        }
        deletedLists.remove(name)
        try await forget(deleted: list, at: path)
        // The directory above may have remained only because of this one.
        removeIfEmpty(path.parent)
        if let above = deletedLists.first(where: { lists.path($0.list) == path.parent }) {
            try await removeDeletedList(above)
        }
        retryMisnamedLists()
    }

    /// Recreates a deleted list if it contains living tasks, or living lists in its directory. The
    /// catalog may be older than the delete.
    private func makeAgain(deleted name: DocumentName, at path: TaskPath) async throws -> DocumentSnapshot? {
        let within = lists.paths.filter {
            $0.value != path && $0.value.isBeneath(path) && catalog.listNames[$0.key] != nil
        }
        guard catalog.hasLiving(inList: name.list) || !within.isEmpty,
            ListIndex.mayMake(name.list, configuration.userID)
        else { return nil }
        let tasks = catalog.living.filter { $0.list == name.list }.map(\.id)
        let (userID, reading) = (configuration.userID, configuration.reading)
        return try await client.transaction { transaction in
            let hasTasks = try tasks.contains { task in
                let entry = TaskIndexEntry(try transaction.task(task), in: reading).entry
                return entry?.list == name.list && entry?.deletion == nil
            }
            let hasLists = try within.keys.contains { list in
                try transaction.document(DocumentName(list: list, in: transaction.databaseName)).exists
            }
            guard hasTasks || hasLists, try !transaction.document(name).exists else { return nil }
            try Self.make(list: name, called: path.string, userID, in: transaction)
            return try transaction.document(name)
        }
    }

    /// Tries again to remove the directories of deleted lists that were not empty.
    func removeDeletedLists() async throws {
        for name in deletedLists.sorted(by: { $0.id < $1.id }) {
            if lists.path(name.list) == nil || catalog.listNames[name.list] != nil { deletedLists.remove(name) }
            try await removeDeletedList(name)
        }
    }

    /// Returns the name that is displaced when a user renames a list's directory at `path`: one
    /// from another machine that was not applied to this directory yet.
    static func displaced(
        from view: DocumentSnapshot, at path: TaskPath, id: String, replica: ReplicaID
    ) -> [Write] {
        if isShown(view, at: path) { return [] }
        let name = TaskList(fields: view.fields).name
        return TaskHistory.writes(
            of: [
                Merge.DisplacedValue(
                    field: FieldPath(key: "name"), value: .string(name), side: .theirs, reason: .changedOnBothSides)
            ], from: [:], task: view.name, userID: UserID(view["userId"]?.stringValue ?? ""), replica: replica,
            baseTime: view.updateTime, id: id)
    }

    /// Whether a list's document has exactly this name: names that differ in Unicode form are two.
    static func isNamed(_ view: DocumentSnapshot, _ name: String) -> Bool {
        UTF8Order.areEqual(TaskList(fields: view.fields).name, name)
    }

    /// Whether a directory has the name of its list, with or without a number.
    static func isShown(_ view: DocumentSnapshot, at path: TaskPath) -> Bool {
        let name = TaskList(fields: view.fields).name
        return (1...9).contains { (try? ListIndex.directory(named: name, from: $0) { _ in false }) == path }
    }

    static func make(
        list name: DocumentName, called title: String, _ userID: UserID, in transaction: ReplicaTransaction
    ) throws {
        let fields = TaskList(name: title, userId: userID).documentFields
        try transaction.append(
            .create(name, fields, transforms: [FieldTransform(FieldPath(key: "createdTime"), .serverTimestamp)]))
    }

    /// Removes a directory that a task or a list has left, if it belongs to no list, and those
    /// above it. A directory that was created only for its contents may have been renamed before
    /// its event arrived; nothing would turn it into a list until the next start.
    func removeIfEmpty(_ directory: TaskPath) {
        guard !directory.isRoot, lists.id(directory) == nil,
            (try? folder.removeDirectoryIfEmpty(directory)) == true
        else { return }
        removeIfEmpty(directory.parent)
    }
}

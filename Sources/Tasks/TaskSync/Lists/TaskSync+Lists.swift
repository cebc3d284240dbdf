import DocumentClient
import DocumentModel
import Merge
import SystemIO
import TaskFolder
import TaskModel

/// From lists to directories.
extension TaskSync {
    /// The directory of a living task's list, made if it is not there; the root where the list is
    /// not known; nil where news of it has to be awaited.
    func directory(ofList list: String?) async throws -> TaskPath? {
        guard let list else { return .root }
        if lists.path(list) == nil {
            if isNewlyMissed(list) { return nil }
            let database = try await client.reading { $0.databaseName }
            if let name = try? DocumentName(database: database, collection: "lists", id: list) {
                try await bringBack(name)
                if try await exportList(client.document(name)) { return nil }
            }
        }
        return lists.path(list) ?? .root
    }

    /// A list that was deleted, and that has a living task again, is made again under the name that it had.
    private func bringBack(_ name: DocumentName) async throws {
        let userID = configuration.userID
        guard ListIndex.mayMake(name.id, userID) else { return }
        // Deleted elsewhere before the loss of its directory here was settled.
        let lost = hosts[name.id] == nil ? vanishedLists[name.id]?.string : nil
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            guard let former = try tables.nameOfDeleted(list: name.id) ?? lost else { return }
            if try !transaction.document(name).exists {
                try Self.make(list: name, called: former, userID, in: transaction)
            }
            try tables.setNameOfDeleted(list: name.id, nil)
        }
    }

    /// Makes or renames the directories of lists: those that are within others after these, and so
    /// in their places already where all of them have moved. Those whose directories are gone wait
    /// until it is clear whether they have gone as well.
    ///
    /// All lists that have changed and were not looked at yet are brought in step together with
    /// these: one may be about to go into another, whose new name came with its own.
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
            // As all of them were at one moment: what has come since is in the feed.
            if vanishedLists[view.name.id] == nil {
                try await exportList(view)
            } else {
                try await followSharing(of: view)
                learn(list: view)
            }
        }
    }

    /// Makes or renames the directory of a list; one that cannot be made is tried again with the
    /// retries. Answers whether its tasks have to wait, for news of those above it or for the disk.
    @discardableResult
    private func exportList(_ document: DocumentSnapshot) async throws -> Bool {
        var view = document
        let name = view.name
        guard !view.isAwaited else { return false }
        let host = hosts[name.id]
        try await followSharing(of: view)
        // One that was let go is not here any more.
        if host != nil, hosts[name.id] == nil { view = try await client.document(name) }
        learn(list: view)
        let list = name.id
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
            // What has become of a directory that was missed is still to be told, and must not be
            // taken for news of this one.
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
                    // Somebody has just made one of that name: that is another list, with a name to
                    // be told from this one's.
                    _ = try await self.list(at: target)
                    retriedLists.insert(name)
                    return false
                }
                try await announceMove(current, to: target)
                guard case .moved = try folder.move(current, to: target, expecting: .anything) else {
                    try await takeBackMove()
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
                if let current {
                    // Its tasks follow, and the lists within it.
                    retryLists(within: current, name.database)
                    removeIfEmpty(current)
                }
            }
        } catch let error as FolderError {
            note(
                SyncProblem(code: "list-not-made", subject: wanted, message: error.message), for: "list \(list)")
            // A name that no directory can have stays so until the document says another.
            if error.isTransient { retriedLists.insert(name) }
            // Its tasks wait with it: one that went to the root would stay there where the next
            // one's try makes the directory.
            return error.isTransient && error.code != .wrongKind && error.code != .blockedParent
        }
        missedLists[list] = nil
        retryMisplaced(in: list)
        retryMisnamedLists(but: name)
        return false
    }

    /// A directory is made together with those above it. One that a list is to have is made as that
    /// of its list, or awaited where news of it is: a nameless one would be another list of that
    /// name, which made way for the first with all in it, and so on without an end. Answers whether
    /// nothing has to be awaited.
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
        try await exportList(client.document(DocumentName(database: database, collection: "lists", id: owner)))
        return !folder.isAbsent(parent)
    }

    /// Makes room for a list's directory where one was made only for lists within it, which came
    /// before the news of their parent: they go into that one's directory, and back with it.
    ///
    /// - Returns: Whether there was such a directory and it is gone.
    private func emptyParent(_ parent: TaskPath, into directory: TaskPath) async throws -> Bool {
        guard parents[parent] != nil, lists.id(parent) == nil else { return false }
        let depth = parent.components.count
        let within = lists.paths.values.filter { $0 != parent && $0.isBeneath(parent) }
        for name in Set(within.map { String($0.components[depth]) }).sorted() {
            let (path, target) = (try parent.appending(name), try directory.appending(name))
            try await announceMove(path, to: target)
            guard case .moved = try folder.move(path, to: target, expecting: .anything) else {
                try await takeBackMove()
                return false
            }
            ownMoves.append((path, target, environment.now()))
            try await noteMove(path, to: target)
        }
        parents[parent] = nil
        return try folder.removeDirectoryIfEmpty(parent)
    }

    /// Whether a directory was made for lists within it a moment ago: its own list may be about to come.
    func isParentOnly(_ directory: TaskPath) -> Bool {
        parents[directory].map { environment.now() < $0 + Self.parentTime } ?? false
    }

    private static let parentTime: Duration = .seconds(5)

    /// Makes lists of directories that were made for lists within them, and are no others' by now.
    func settleParents() async throws {
        for directory in parents.keys.sorted() where !isParentOnly(directory) {
            parents[directory] = nil
            if (try? folder.hasDirectory(directory)) == true { _ = try await list(at: directory) }
        }
    }

    /// Whether a directory that a list has lost is for no other: what has become of it is about to
    /// be told, or the list is to have it again. One that has got another name meanwhile goes
    /// there, maybe beneath this one.
    private func keeps(_ list: String, _ lost: TaskPath) -> Bool {
        isNewlyMissed(list) || UTF8Order.areEqual(catalog.listNames[list] ?? lost.string, lost.string)
    }

    /// Whether a directory is that of a deleted list, stays only for what else is in it, and can be
    /// that of `list` from now on.
    private func isLeft(_ directory: TaskPath, to list: String) -> Bool {
        guard let owner = lists.id(directory), owner != list, catalog.listNames[owner] == nil,
            !catalog.hasLiving(inList: owner), !isNewlyMissed(list)
        else { return false }
        return lists.path(list) == nil || (try? folder.hasDirectory(directory)) == true
    }

    /// A deleted list has no directory any more. Should it be made again, its name is remembered.
    private func forget(deleted list: String, at directory: TaskPath) async throws {
        lists.remove(list)
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            try tables.remove(list: list)
            try tables.setNameOfDeleted(list: list, directory.string)
        }
    }

    /// Whether the directory of a list was first missed a moment ago: what has become of it is
    /// about to be told, and comes first.
    func isRecentlyMissed(_ list: String) -> Bool {
        let now = environment.now()
        let since = missedLists[list] ?? now
        missedLists[list] = since
        return now < since + .seconds(5)
    }

    /// Whether that has been noticed already, and was a moment ago.
    func isNewlyMissed(_ list: String) -> Bool { missedLists[list] != nil && isRecentlyMissed(list) }

    /// Whether nothing may be put into a directory yet, since it is not where it was. One that is
    /// made there at that moment would be taken for the list. One that has been missed for longer
    /// is made.
    ///
    /// - Parameter known: what has been found out.
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

    /// Notes what the document of a list says. Others whose directories are to be called otherwise by that follow.
    func learn(list view: DocumentSnapshot) {
        // Of a list that is not the user's own and not followed nothing is shown.
        guard !view.exists || isUsable(view) else { return }
        catalog.update(list: view)
        let name = view.exists ? TaskList(fields: view.fields).name : nil
        let affected = listBook.set(
            view.name.id,
            name.map {
                NameAllocator.Claim(place: "", title: $0, time: view.createTime, isExact: ListIndex.isExact($0))
            })
        if !view.exists {
            misnamedLists.remove(view.name)
            problems["list \(view.name.id)"] = nil
        }
        for id in affected where lists.path(id) != nil {
            if let name = try? DocumentName(database: view.name.database, collection: "lists", id: id) {
                retriedLists.insert(name)
            }
        }
    }

    /// A directory has moved with all that is in it, also with lists that are to be elsewhere.
    private func retryLists(within directory: TaskPath, _ database: DatabaseName) {
        for (list, path) in lists.paths where path != directory && path.isBeneath(directory) {
            guard !UTF8Order.areEqual(catalog.listNames[list] ?? "", path.string),
                let name = try? DocumentName(database: database, collection: "lists", id: list)
            else { continue }
            retriedLists.insert(name)
        }
    }

    /// A directory has another name or none now: those that had to take other names because of it may have theirs.
    func retryMisnamedLists(but name: DocumentName? = nil) {
        retriedLists.formUnion(misnamedLists.filter { $0 != name && lists.path($0.id) != nil })
    }

    /// Tasks that came before their list are in the root. Those of a list that has lost its directory may be in one
    /// that another list has got since.
    ///
    /// - Parameter list: nil: any.
    func retryMisplaced(in list: String? = nil) {
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

    /// The list that a file beside the others of `list` is in: none as long as nothing is known of that but its id.
    func knownList(_ list: String?) -> String? { list.flatMap { lists.path($0) == nil ? nil : $0 } }

    /// Removes the directory of a list that was deleted, if nothing is in it any more. One that has
    /// got tasks meanwhile is made again, as by `importFiles`: whoever deleted it did not see them.
    func removeDeletedList(_ name: DocumentName) async throws {
        let list = name.id
        let view = try await client.document(name)
        guard let path = lists.path(list), !view.exists, !view.isAwaited else { return }
        if let view = try await makeAgain(deleted: name, at: path) { return learn(list: view) }
        guard (try? folder.removeDirectoryIfEmpty(path)) == true else {
            if deletedLists.insert(name).inserted { retryMisnamedLists() }
            return
        }
        deletedLists.remove(name)
        try await forget(deleted: list, at: path)
        // The one above it may have stayed only for this.
        removeIfEmpty(path.parent)
        retryMisnamedLists()
    }

    /// Makes a list that was deleted again if living tasks are in it. What the catalog shows of
    /// these may be older than the delete is.
    private func makeAgain(deleted name: DocumentName, at path: TaskPath) async throws -> DocumentSnapshot? {
        guard catalog.hasLiving(inList: name.id), ListIndex.mayMake(name.id, configuration.userID) else { return nil }
        let tasks = catalog.living.filter { $0.list == name.id }.map(\.id)
        let userID = configuration.userID
        return try await client.transaction { transaction in
            let isUsed = try tasks.contains { task in
                let entry = TaskIndexEntry(try transaction.task(task)).entry
                return entry?.list == name.id && entry?.deletion == nil
            }
            guard isUsed, try !transaction.document(name).exists else { return nil }
            try Self.make(list: name, called: path.string, userID, in: transaction)
            return try transaction.document(name)
        }
    }

    /// Tries again where something was in the way.
    func removeDeletedLists() async throws {
        for name in deletedLists.sorted(by: { $0.id < $1.id }) {
            if lists.path(name.id) == nil || catalog.listNames[name.id] != nil { deletedLists.remove(name) }
            try await removeDeletedList(name)
        }
    }

    /// What of a list's name goes when a user renames its directory, which was at `path`: another
    /// machine's name that had not come to this directory yet.
    static func displaced(
        from view: DocumentSnapshot, at path: TaskPath, id: String, replica: String
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

    /// Whether a list's document gives it exactly this name, byte for byte: names of two Unicode forms are two.
    static func isNamed(_ view: DocumentSnapshot, _ name: String) -> Bool {
        UTF8Order.areEqual(TaskList(fields: view.fields).name, name)
    }

    /// Whether a directory has the name that its list has, be it with a number.
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

    /// A directory that a task or a list was moved out of goes if it is no list, and so do those
    /// above it. One that was made only for what was to be in it may have got another name before
    /// its own was told of: nothing would make it a list until the next start.
    func removeIfEmpty(_ directory: TaskPath) {
        guard !directory.isRoot, lists.id(directory) == nil,
            (try? folder.removeDirectoryIfEmpty(directory)) == true
        else { return }
        removeIfEmpty(directory.parent)
    }
}

package import DocumentClient
package import DocumentModel
package import ObjectStorage
import Reconciliation
import SQLite
import Synchronization
package import SystemIO
package import SystemService
package import TaskFolder
package import TaskModel

/// The two-way bridge between a tasks directory and its documents.
///
/// Files are compared with their shadows: what differs is what the user changed, and goes into the
/// client's journal in the transaction that advances the shadow. Documents that changed, here or
/// elsewhere, are written to files; a file that changed meanwhile is read first. All of it happens
/// in turns, one at a time.
package actor TaskSync {
    package struct Configuration: Sendable {
        /// The user's id: whose documents these are.
        package var userID: UserID
        /// For the marker.
        package var remote: String
        /// Take the directory as it is although it is not the one remembered: files are united with
        /// documents, nothing is deleted.
        package var rebinds: Bool
        /// Attachments up to this many bytes come by themselves, others when they are fetched; nil: all.
        package var downloadsUpTo: Int64?
        /// How hard to try to make attachments smaller before they travel.
        package var compression: CompressionPolicy
        /// For so many days the trash keeps what is in it; 0: for ever.
        package var trashDays: Int
        /// Names the store that objects are in, if it is not the remote's own. Once it is another,
        /// every file that is here is offered to that.
        package var objectStore: String
        /// Lists of others that this machine follows at most: each takes two of the 1,000 listen
        /// targets that a server allows a connection.
        package var followedLists = 400
        /// Whether there is no remote yet, so that the first turn waits for none.
        package var isAlone = false
        /// Whether the state file was opened for repair; see `repairTables`.
        package var repairs = false
        /// Names this boot of the machine; `nil` if it is not known. A run in the same boot as the
        /// one before it finds no file that a power cut has left empty.
        package var bootID: String?
        /// The local clock in seconds since 1970, for showing; and where it is behind, the trash
        /// keeps things for longer.
        package var wallClock: @Sendable () -> Int64

        package init(
            userID: UserID, remote: String, rebinds: Bool = false,
            downloadsUpTo: Int64? = nil, compression: CompressionPolicy = .automatic, trashDays: Int = 30,
            objectStore: String = "", wallClock: @escaping @Sendable () -> Int64
        ) {
            self.userID = userID
            self.remote = remote
            self.rebinds = rebinds
            self.downloadsUpTo = downloadsUpTo
            self.compression = compression
            self.trashDays = trashDays
            self.objectStore = objectStore
            self.wallClock = wallClock
        }
    }

    private let executor: any SerialExecutor
    /// Copies files into the directory; a long copy must not hold up the turns.
    let copier = SerialThread()
    let waiter = SerialThread()
    /// Large files wait for the disk here: the turns go on, and Swift's own threads, which are few, stay free.
    let synchronizer = SerialThread()
    /// What the bridge is at, also while it is stuck.
    let activity: Activity
    let configuration: Configuration
    let folder: any TaskFolder
    let client: DocumentDatabase
    /// Where attachments go; nil: they stay on this machine.
    let objects: (any ObjectStore)?
    let inventory: ChunkInventory?
    let logger: Logger
    let changes: FolderChanges
    let environment: Environment
    let start: Duration

    var index = FileIndex()
    var lists = ListIndex()
    /// The lists of other users that this one may use, with their owners.
    var hosts: [String: UserID] = [:]
    /// Lists of other users that this one may use, beyond those that a machine follows.
    var unfollowed: Set<DocumentName> = [] { didSet { noteUnfollowed() } }
    package internal(set) var catalog = TaskCatalog()
    /// By task, those that were made of new files here a short while ago.
    var newborns: [String: Newborn] = [:]
    /// Tasks that were made of new files here, and that another machine may have made at the same time; see `join`.
    var created: [String: CreatedTask] = [:]
    var lastForgetting: Duration?
    /// Files of names that tasks are to get, which are still to be read, and since when.
    var unreadFiles: [TaskPath: Duration] = [:]
    /// By path, files that were deleted here a short while ago.
    var deletedFiles: [TaskPath: DeletedFile] = [:]
    /// What each task's file is to be called.
    var names = NameAllocator { TaskFileName.file(for: $0, number: $1).name }
    /// What the directory of each list is to be called.
    var listBook = NameAllocator { name, number in
        (try? ListIndex.directory(named: name, from: number) { _ in false }.string) ?? "\(name) (\(number))"
    }
    /// Directories of lists that were renamed from here a moment ago.
    var ownMoves: [(from: TaskPath, to: TaskPath, time: Duration)] = []
    /// Names that tasks' files had until Ferry renamed them: an editor may still have such a file
    /// open under its old name.
    var vacated: Set<TaskPath> = []
    /// What the last run was about to put into files, and has not noted: by task.
    var unfinishedWrites: [String: [UInt8]] = [:]
    /// A move that the last run announced, and of which nobody could see yet whether it was made.
    var unfinishedMoves: [(from: TaskPath, to: TaskPath)] = []
    /// Directories that nobody has looked into since the machine started: a power cut may have left
    /// known files in them empty.
    var unexplored: [TaskPath] = [.root]
    /// Directories that the last scan could not list.
    var unlisted: Set<TaskPath> = []
    /// Those of them in which no known file can be, with the times of their last changes when that
    /// was so; see `noteUnlisted`.
    var unreadable: [TaskPath: FileTime] = [:]
    /// Where files went that cannot be looked at, by the names that they left. None of them counts as missing.
    var outOfSight: [TaskPath: TaskPath] = [:]
    /// Files with the identifiers of tasks that are not known here, while the server has not told of all there are.
    var unidentified: [String: Set<TaskPath>] = [:]
    /// Tasks whose new files may have been written by a run that was cut off, and have other names
    /// by now: they get no files before the next scan has looked for these.
    var soughtFiles: Set<String> = []
    /// Whether the state file says that this boot has been looked at for such files.
    var isBootNoted = false
    /// By task, files that a power cut has left empty and that could not be filled yet, as on a
    /// full disk; see `fillEmptied`.
    var unfilled: [String: (path: TaskPath, stamp: FileStamp)] = [:]
    /// Lists whose directories have other names than they should, because those are taken.
    var misnamedLists: Set<DocumentName> = []
    /// Lists whose directories are gone here while tasks may still be in them, with where they were.
    var vanishedLists: [String: TaskPath] = [:]
    /// Where those would be by the renames that were told of since.
    var carriedLists: [String: TaskPath] = [:]
    /// Directories that were made for lists within them, while no list has their names, and when.
    var parents: [TaskPath: Duration] = [:]
    /// Lists whose directories were not where they should be when they were to get other names, and since when.
    var missedLists: [String: Duration] = [:]
    var attachments = AttachmentIndex()
    /// The history entries that nobody has dismissed.
    var openConflicts: Set<DocumentName> = []
    var held: [String: Int64] = [:]
    var recentDeletes = ChangeWindow(.delete)
    /// The tasks whose files are gone and that are not at rest, with their reasons. They are planned
    /// again when their documents change.
    var waiting: [String: Reason] = [:]
    /// By task, since when a file that went back to an older version waits for approval.
    var reverted: [String: Int64] = [:]
    var recentReverts = ChangeWindow(.revert)
    /// Whether it is still to be seen how many reverts come, and when the last one came.
    var isReviewingReverts = false
    var lastRevert: Duration?
    var problems: [String: SyncProblem] = [:]
    /// Problems of the directory as a whole, by kind of problem and path, renewed with each scan.
    var folderProblems: [String: SyncProblem] = [:]
    /// Tasks whose files changed under an export, which has to be tried again.
    var retries: Set<String> = []
    /// Those of them that the replica's file names.
    var rememberedRetries: Set<String> = []
    /// Lists that are gone while something is left in their directories.
    var deletedLists: Set<DocumentName> = []
    /// Lists whose directories could not be made.
    var retriedLists: Set<DocumentName> = []
    var retryDelay = Backoff.firestore
    var isRetryPlanned = false
    /// Tasks whose files have other names than they should, because those are taken.
    var misnamed: Set<String> = []
    /// Known files that a scan under way has not found.
    var missingInScan: Set<TaskPath> = []
    /// Whether the next directory that is found becomes the known one.
    var rebinds: Bool
    /// Whether nothing that is absent was deleted: the directory was bound anew, and not all of it could be read since.
    var isReadopted = false
    /// Why nothing is inferred from the directory; nil while it is the known one.
    package internal(set) var rootHold: SyncProblem? { didSet { holdBell.yield() } }
    package internal(set) var isPaused = false { didSet { holdBell.yield() } }
    /// Rings when the two above may have changed.
    private let (holdChanges, holdBell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (holdBeginnings, holdBegins) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var transfers = TransferList()
    /// Transfers whose bytes are where they belong, for the next turn to take over together.
    var stored: [FinishedTransfer] = []
    var isStoredPlanned = false
    var lastStored: Duration?
    /// Incoming files that commands copy what they attach into.
    var copies: Set<String> = []
    /// Where files were that have moved and are still to be read.
    var movedFrom: [TaskPath: TaskPath] = [:]
    /// Directories of attachments that were renamed in the batch of changes that is being taken over.
    var movedAttachmentDirectories: Set<TaskPath> = []
    /// Tasks that moved out of directories that were gone by then, with their attachments, by the
    /// paths that their files had there.
    var strandedAttachments: [TaskPath: String] = [:]
    /// By task; see `trashBeside`.
    var orphanedAttachments: [String: OrphanedAttachments] = [:]
    /// The transfers that somebody paused, by `Transfer.pauseKey`.
    var pausedTransfers: Set<String> = []
    /// Files that somebody attached by a command although their names are those of unfinished ones,
    /// by `Transfer.pauseKey`.
    var attachedPartials: Set<String> = []
    /// The versions of files whose uploads a user has cancelled, by `partialKey`.
    var declined: [String: OrphanedAttachments.Version] = [:]
    /// By task, the files that its document has no room for, and what its content took then, in bytes.
    var withoutRoom: [String: (names: Set<ExactText>, used: Int)] = [:]
    /// Downloads that have asked for a repair of what they want, with what is wrong; see `damageKey`.
    var reportedDamage: [String: String] = [:]
    /// Whether the store may lack what this machine has given it; see `offerAttachments`.
    var isOffering = false
    /// By transfer: how far it had come before this run of the daemon, until it is known again.
    var earlierProgress: [String: Int64] = [:]
    var lastProgress: Duration?
    /// Tasks whose attachments are all to be here, whatever the machine takes otherwise.
    var pinned: Set<String> = []
    /// Called after every turn.
    var observers: [Int: @Sendable () -> Void] = [:]
    var turn = Turn()
    var lastTurn: Duration = .zero
    var isReleasePlanned = false
    /// Why no turn may follow; see `withExclusiveAccess`.
    var failure: SQLiteError?
    let (failures, failureBell) = AsyncStream.makeStream(of: SQLiteError.self, bufferingPolicy: .bufferingOldest(1))
    private var isLoaded = false
    /// Whether all that was on the remote at the first start has come here.
    var isSynced = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(
        configuration: Configuration, folder: any TaskFolder, client: DocumentDatabase, objects: (any ObjectStore)?,
        logger: Logger, environment: Environment = .system, activity: Activity? = nil
    ) {
        self.configuration = configuration
        rebinds = configuration.rebinds
        self.folder = folder
        self.client = client
        self.objects = objects
        let namespace = try? ObjectNamespace(user: configuration.userID.rawValue)
        inventory =
            if let objects, let namespace {
                ChunkInventory(store: objects, namespace: namespace, environment: environment)
            } else {
                nil
            }
        self.logger = logger
        self.environment = environment
        self.activity = activity ?? Activity(now: environment.now)
        start = environment.now()
        changes = FolderChanges(folder, environment: environment)
        executor = environment.executor?() ?? SerialThread()
    }

    deinit {
        (executor as? SerialThread)?.stop()
        copier.stop()
        waiter.stop()
        synchronizer.stop()
    }

    /// The queries whose results make up a user's tasks.
    package nonisolated static func queries(of userID: UserID, in database: DatabaseName) -> [Query] {
        let parent = ParentName(database)
        let isMine = Query.Filter.field(FieldPath(key: "userId"), .equal, .string(userID.rawValue))
        return [
            Query(parent: parent, collectionID: "lists", filter: isMine),
            Query(parent: parent, collectionID: "tasks", filter: isMine),
            Query(parent: parent, collectionID: TaskHistory.collection, allDescendants: true, filter: isMine),
        ]
    }

    /// The same among the documents that are here, which are all that this user may see: others' are shared.
    nonisolated static func localQueries(
        in database: DatabaseName
    ) -> (lists: Query, tasks: Query, history: Query) {
        let parent = ParentName(database)
        return (
            Query(parent: parent, collectionID: "lists"), Query(parent: parent, collectionID: "tasks"),
            Query(parent: parent, collectionID: TaskHistory.collection, allDescendants: true)
        )
    }

    // MARK: Running

    /// Keeps both sides in step until cancelled. Throws when the state file fails.
    package func run() async throws {
        try await load()
        try await begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.followFolder() }
            group.addTask { try await self.followHold() }
            group.addTask { try await self.followDocuments() }
            group.addTask { try await self.followFailure() }
            group.addTask { try await self.followUnidentified() }
            group.addTask { try await self.followRetention() }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Reads what the state file knows; until then there are no tasks to show or to change. `run`
    /// does it if nobody has.
    package func load() async throws {
        guard !isLoaded else { return }
        let objectStore = configuration.objectStore
        if configuration.repairs {
            try await client.transaction { try $0.database.migrate(SyncSchema.component, SyncSchema.migrations) }
            try await repairTables()
        }
        let tables = try await client.transaction { transaction in
            try transaction.database.migrate(SyncSchema.component, SyncSchema.migrations)
            let tables = SyncTables(transaction)
            // The other store may lack what this machine has.
            if try tables.state("object-store") ?? "" != objectStore {
                try tables.setState("object-store", objectStore)
                try tables.setState("offering", "true")
            }
            return (
                try tables.files(), try tables.lists(), try tables.attachments(), try tables.held(),
                try tables.state("paused") ?? "", try tables.state("retries") ?? "",
                try tables.state("attached-partials") ?? "", try tables.state("offering") != nil,
                try tables.state("pinned") ?? "", try tables.state("synced") != nil, try tables.state("progress") ?? "",
                try tables.announced(), try tables.orphans(), try tables.state("bound-anew") != nil,
                try tables.state("unreadable") ?? "", try tables.state("declined") ?? "", try tables.state("boot"),
                try tables.created(), try tables.reverted()
            )
        }
        index = FileIndex(tables.0.map { ($0.path, FileIndex.Entry(task: $0.task, stamp: $0.stamp)) })
        for (list, path) in tables.1 { lists.set(list, path) }
        for row in tables.2 { attachments.set(row) }
        held = tables.3
        waiting = held.mapValues { _ in .heldForReview(.delete) }
        pausedTransfers = Set(tables.4.split(separator: "\n").map(String.init))
        rememberedRetries = Set(tables.5.split(separator: "\n").map(String.init))
        attachedPartials = Set(tables.6.split(separator: "\n").map(String.init))
        isOffering = tables.7
        pinned = Set(tables.8.split(separator: "\n").map(String.init))
        // A refused change is reported by the export of its task, after a restart as well.
        let refused = try await client.pendingMutations(parkedOnly: true).map(\.mutation.name)
        retries = rememberedRetries.union(refused.filter { $0.collectionPath == "tasks" }.map(\.id))
        isSynced = tables.9
        earlierProgress = Self.progress(saved: tables.10)
        unfinishedWrites = tables.11
        orphanedAttachments = tables.12
        isReadopted = tables.13
        unreadable = Self.unreadable(saved: tables.14)
        declined = Self.declined(saved: tables.15)
        created = tables.17
        reverted = tables.18
        if let boot = configuration.bootID, tables.16 == boot {
            isBootNoted = true
            unexplored = []
        }
        try await loadRecentFiles()
        try await loadHosts()
        try await loadCatalog()
        try await forgetLeftOfPurged()
        try await loadSharing()
        // The last run may have died between making a directory and noting who waits for it.
        retryMisplaced()
        let database = try await client.reading { $0.databaseName }
        try await client.keep(Self.queries(of: configuration.userID, in: database))
        // Servers whose rules do not know of sharing refuse the question.
        try await client.keep(
            [Self.sharedLists(with: configuration.userID, in: database)]
                + ListInvitation.queries(of: configuration.userID, in: database), areOptional: true)
        isLoaded = true
    }

    /// Reads what lists show from the replica. Answers the lists.
    @discardableResult private func loadCatalog() async throws -> [DocumentSnapshot] {
        let queries = Self.localQueries(in: try await client.reading { $0.databaseName })
        let (lists, conflicts) = try await client.reading { transaction in
            (
                try transaction.documents(queries.lists),
                try transaction.documents(queries.history).filter(Self.isOpen).map(\.name)
            )
        }
        openConflicts = Set(conflicts)
        for view in lists {
            learn(list: view)
            // Directories that could not be made or renamed before the last run ended.
            guard view.exists else { continue }
            let path = self.lists.path(view.name.id)
            if path.map({ !Self.isNamed(view, $0.string) }) ?? true { retriedLists.insert(view.name) }
        }
        var page = try await tasks(after: nil, in: queries.tasks)
        while let current = page {
            // The client's thread reads the next ones while this one takes these in.
            async let next = tasks(after: current.last, in: queries.tasks)
            for (facts, view) in current.found {
                catalog.update(facts)
                // What the files are called now is right for all of them but those below, so none is looked at again.
                _ = names.set(facts.id, facts.claim)
                noteMapped(facts.id, at: index.path(of: facts.id))
                // The last run was cut off between a delete that was taken back and the new file.
                if isSynced, facts.claim != nil, index.path(of: facts.id) == nil { retries.insert(facts.id) }
                if facts.hasAttachments || !attachments.rows(of: facts.id).isEmpty {
                    await exportAttachments(of: view)
                }
            }
            page = try await next
        }
        // A name that was taken may be free by now, or soon.
        let numbered = index.allPaths.filter { $0.name.hasSuffix(")" + TaskPath.taskSuffix) }
        for path in numbered {
            guard let task = index[path]?.task, try rightPath(of: task, in: path.parent) != path else { continue }
            retries.insert(task)
        }
        return lists
    }

    private func tasks(
        after row: Int64?, in query: Query
    ) async throws -> (found: [(TaskIndexEntry, DocumentSnapshot)], last: Int64)? {
        try await client.reading { transaction in
            try transaction.documents(query, only: TaskIndexEntry.fields, after: row, limit: Self.batchSize).map {
                page in
                (page.found.map { (TaskIndexEntry($0), $0) }, page.last)
            }
        }
    }

    /// The first turn: the root, the watches, and what changed while nobody watched.
    private func begin() async throws {
        do throws(FolderError) {
            try folder.startWatching()
        } catch {
            note(folder: SyncProblem(code: "not-watched", subject: nil, message: error.message))
        }
        // What is on the remote already must be known before a file counts as new.
        if !isSynced, !configuration.isAlone {
            try await waitUntilCurrent()
            var isShared = false
            for list in try await loadCatalog() where try await followSharing(of: list) { isShared = true }
            if isShared {
                try await waitUntilCurrent()
                try await loadCatalog()
            }
        }
        try await withExclusiveAccess { try await takeUp(isStart: true) }
        if !reverted.isEmpty { reviewRevertsLater() }
    }

    /// Takes in what happened while nobody could look, if the directory is the known one.
    private func takeUp(isStart: Bool) async throws {
        guard try await checkRoot() else { return }
        try await finishMoves()
        if !isSynced { try await adoptKnownFiles() }
        try await rescan(isFirst: isStart)
        try await exportChanges()
        if isOffering { queueOffers() }
        guard !isSynced else { return }
        try await client.transaction { try SyncTables($0).setState("synced", "true") }
        isSynced = true
    }

    /// The files are written again.
    func forget(_ paths: [TaskPath]) async throws {
        let absent = paths.compactMap { index[$0]?.task }
        guard !absent.isEmpty else { return }
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for task in absent {
                try tables.removeFile(task)
                try tables.removeAttachments(of: task)
            }
        }
        for task in absent {
            index.remove(task: task)
            attachments.removeAll(of: task)
        }
        retries.formUnion(absent)
        retries.formUnion(misnamed)
    }

    private func waitUntilCurrent() async throws {
        for await status in await client.statuses {
            if status.isCurrent { return }
            if Task.isCancelled { throw CancellationError() }
        }
        throw CancellationError()
    }

    /// Whichever turn found that the directory is not the known one: looks until it is, then takes
    /// in what happened meanwhile.
    private func followHold() async throws {
        for await _ in holdBeginnings {
            while rootHold != nil {
                try await environment.sleep(for: .seconds(2))
                try await withExclusiveAccess { try await takeUp(isStart: false) }
            }
        }
        throw CancellationError()
    }

    private func followFolder() async throws {
        while !Task.isCancelled {
            let batch = try await nextFolderChanges()
            try await withExclusiveAccess {
                try await importChanges(batch)
                try await exportRetries()
            }
        }
    }

    /// Off the actor: waiting must not keep the turns of others from running.
    private nonisolated func nextFolderChanges() async throws -> [DebouncedChange] {
        try await changes.next(limit: 500)
    }

    private func followDocuments() async throws {
        var holds = holdChanges.makeAsyncIterator()
        while !Task.isCancelled {
            // One read for both: a change between two would be waited past.
            let (hasChanges, latest) = try await client.reading { transaction in
                (try !transaction.changes(for: Self.consumer, limit: 1).isEmpty, transaction.latestSequence)
            }
            if !hasChanges { try await client.waitForChanges(after: latest) }
            while isPaused || rootHold != nil {
                guard await holds.next() != nil else { return }
            }
            // A batch a turn: an edit need not wait until thousands of files are written.
            try await withExclusiveAccess { try await exportChanges(batches: 1) }
        }
    }

    static let consumer = "files"

    // MARK: Turns

    /// Calls `action` after every turn, on the bridge's thread; it must be quick. Answers how to take it back.
    package func observe(_ action: @escaping @Sendable () -> Void) -> Int {
        let id = (observers.keys.max() ?? 0) + 1
        observers[id] = action
        return id
    }

    package func stopObserving(_ id: Int) { observers[id] = nil }

    /// Transfers stop at once and go on by themselves afterwards.
    package func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        guard !isPaused else {
            suspendRunning()
            // Whoever pauses may want to unmount the file system.
            return folder.release()
        }
        startQueued()
        retryLater()
    }

    // MARK: Problems

    /// What waits for a person, worst first.
    package var allProblems: [SyncProblem] {
        let others = Array(folderProblems.values) + Array(problems.values) + orphanProblems
        let sorted = others.sorted { ($0.subject ?? "") < ($1.subject ?? "") }
        return (rootHold.map { [$0] } ?? []) + sorted
    }

    private var orphanProblems: [SyncProblem] {
        attachments.orphanedDirectories.map { path, count in
            let taskFile = "\(path.stem)\(TaskPath.taskSuffix)"
            return SyncProblem(
                code: "no-task", subject: path.string,
                message: count == 1
                    ? "1 file in it belongs to no task and stays on this machine."
                    : "\(count) files in it belong to no task and stay on this machine.",
                hint: "They are attached as soon as there is a task '\(taskFile)' beside it; or move them away.")
        }
    }

    func note(_ problem: SyncProblem, for key: String) { problems[key] = problem }

    func note(folder problem: SyncProblem) { folderProblems["\(problem.code) \(problem.subject ?? "")"] = problem }
}

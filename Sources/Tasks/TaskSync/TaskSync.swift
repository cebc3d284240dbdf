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
/// Each file is compared with its shadow, the file as it was last read or written. A difference is
/// a change by the user: it goes into the client's journal in the transaction that updates the
/// shadow. Documents that changed, on this machine or another, are written to files; a file that
/// changed in the meantime is read first. All of this happens in turns, one at a time.
package actor TaskSync {
    package struct Configuration: Sendable {
        /// The id of the user to whom the documents belong.
        package var userID: UserID
        /// The server's address, for the marker of the tasks directory.
        package var remote: String
        /// Whether the directory is adopted although it is not the known one. Its files are then
        /// united with the documents, and nothing is deleted.
        package var rebinds: Bool
        /// The size in bytes up to which attachments are downloaded automatically; nil for all.
        /// Larger ones are downloaded on request.
        package var downloadsUpTo: Int64?
        /// The effort to compress attachments before they are uploaded.
        package var compression: CompressionPolicy
        /// The number of days for which the trash keeps its contents; 0 for unlimited.
        package var trashDays: Int
        /// The store of the objects, if it is not the server's own. After a change of this value
        /// every attachment that is on this machine is offered to the new store.
        package var objectStore: String
        /// The settings by which tasks are read.
        package var reading = TaskReading()
        package var vocabulary: TaskVocabulary { reading.vocabulary }
        /// The maximum number of other users' lists that this machine follows. Each takes two of
        /// the 1,000 listen targets that a server allows on a connection.
        package var followedLists = 400
        /// Whether there is no server yet, so that the first turn waits for none.
        package var isAlone = false
        /// Whether the state file was opened for repair; see `repairTables`.
        package var repairs = false
        /// The id of this boot of the machine; nil if it is not known. A run in the same boot as
        /// the previous one cannot find files that a power cut has left empty.
        package var bootID: String?
        /// The local clock in seconds since 1970, for display. If it is slow, the trash keeps its
        /// contents for longer.
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
    /// Copies files into the directory, so that a long copy does not delay the turns.
    let copier = SerialThread()
    let waiter = SerialThread()
    /// Synchronizes large files to disk, so that neither the turns nor Swift's few own threads wait
    /// for it.
    let synchronizer = SerialThread()
    /// The operations in progress, also while they are stuck.
    let activity: Activity
    let configuration: Configuration
    let folder: any TaskFolder
    let client: DocumentDatabase
    /// The store of the attachments; nil if they stay on this machine.
    let objects: (any ObjectStore)?
    let inventory: ChunkInventory?
    let logger: Logger
    let changes: FolderChanges
    let environment: Environment
    let start: Duration

    var index = FileIndex()
    var lists = ListIndex()
    /// The lists of other users that this user may use, with their owners.
    var hosts: [ListID: UserID] = [:]
    /// The lists of other users that this user may use, but which exceed `followedLists`.
    var unfollowed: Set<DocumentName> = [] { didSet { noteUnfollowed() } }
    package internal(set) var catalog = TaskCatalog()
    /// The tasks that were recently created from new files here, by id.
    var newborns: [TaskID: Newborn] = [:]
    /// The tasks that were created from new files here and that another machine may have created at
    /// the same time; see `join`.
    var created: [TaskID: CreatedTask] = [:]
    var lastForgetting: Duration?
    /// Unread files with the names that tasks are to get, and since when they are awaited.
    var unreadFiles: [TaskPath: Duration] = [:]
    /// The files that were recently deleted here, by path.
    var deletedFiles: [TaskPath: DeletedFile] = [:]
    /// The names of the tasks' files.
    var names = NameAllocator<TaskID> { TaskFileName.file(for: $0, number: $1).name }
    /// The names of the lists' directories.
    var listBook = NameAllocator<ListID> { name, number in
        (try? ListIndex.directory(named: name, from: number) { _ in false }.string) ?? "\(name) (\(number))"
    }
    /// The list directories that this machine has just renamed itself.
    var ownMoves: [(from: TaskPath, to: TaskPath, time: Duration)] = []
    /// Former names of task files that Ferry has renamed: an editor may still have such a file open
    /// under its old name.
    var vacated: Set<TaskPath> = []
    /// The contents that the last run was about to write to files but did not record, by task.
    var unfinishedWrites: [TaskID: [UInt8]] = [:]
    /// Moves that the last run announced and whose result could not be seen yet.
    var unfinishedMoves: [(from: TaskPath, to: TaskPath)] = []
    /// The directories that were not searched since the machine started. A power cut may have left
    /// known files in them empty.
    var unexplored: [TaskPath] = [.root]
    /// The directories that the last scan could not list.
    var unlisted: Set<TaskPath> = []
    /// The unlisted directories that contain no known file, with their modification times when that
    /// was found; see `noteUnlisted`.
    var unreadable: [TaskPath: FileTime] = [:]
    /// The places of files that moved where they cannot be looked at, by their former paths. None
    /// of them counts as missing.
    var outOfSight: [TaskPath: TaskPath] = [:]
    /// Files with identifiers of tasks that are unknown here, until the server has reported all
    /// tasks.
    var unidentified: [TaskID: Set<TaskPath>] = [:]
    /// Tasks whose new files may have been written by an interrupted run and renamed since. They
    /// get no files before the next scan has looked for these.
    var soughtFiles: Set<TaskID> = []
    /// Files that have the names of other tasks' files, by path, until it is known where those are.
    var replacements: [TaskPath: Replacement] = [:]
    /// Whether the state file records that all files were checked in this boot; see `noteBoot`.
    var isBootNoted = false
    /// Files that a power cut has left empty and that could not be filled yet, for example because
    /// the disk is full, by task; see `fillEmptied`.
    var unfilled: [TaskID: (path: TaskPath, stamp: FileStamp)] = [:]
    /// Lists whose directories do not have the right names because those are taken.
    var misnamedLists: Set<DocumentName> = []
    /// The former paths of list directories that are gone here while the lists may still contain
    /// tasks.
    var vanishedLists: [ListID: TaskPath] = [:]
    /// The paths that those directories would have after the renames reported since.
    var carriedLists: [ListID: TaskPath] = [:]
    /// Directories that were created only to contain the directories of lists, and when. No list
    /// has their names.
    var parents: [TaskPath: Duration] = [:]
    /// Lists whose directories were not found when they were to be renamed, and since when.
    var missedLists: [ListID: Duration] = [:]
    var attachments = AttachmentIndex()
    /// The history entries that were not dismissed.
    var openConflicts: Set<DocumentName> = []
    var held: [TaskID: Int64] = [:]
    var recentDeletes = ChangeWindow(.delete)
    /// The tasks whose files are gone and for which something is still to be done, with the
    /// reasons. They are planned again when their documents change.
    var waiting: [TaskID: Reason] = [:]
    /// The times at which files that went back to older versions were held for approval, by task.
    var reverted: [TaskID: Int64] = [:]
    var recentReverts = ChangeWindow(.revert)
    /// Whether more reverted files may follow, and when the last one was found.
    var isReviewingReverts = false
    var lastRevert: Duration?
    var problems: [String: SyncProblem] = [:]
    /// The problems of the directory as a whole, by kind and path. Each scan renews them.
    var folderProblems: [String: SyncProblem] = [:]
    /// The tasks whose files changed during an export, which has to be repeated.
    var retries: Set<TaskID> = []
    /// The retries that the state file contains.
    var rememberedRetries: Set<TaskID> = []
    /// Deleted lists whose directories are not empty.
    var deletedLists: Set<DocumentName> = []
    /// Lists whose directories could not be created.
    var retriedLists: Set<DocumentName> = []
    var retryDelay = Backoff.firestore
    var isRetryPlanned = false
    /// Tasks whose files do not have the right names because those are taken.
    var misnamed: Set<TaskID> = []
    /// Known files that the scan in progress has not found.
    var missingInScan: Set<TaskPath> = []
    /// Whether the next directory that is found becomes the known one.
    var rebinds: Bool
    /// Whether absent files do not count as deleted, because the directory was re-adopted and could
    /// not be read completely since.
    var isReadopted = false
    /// The reason why the directory's contents do not count as changes; nil while the directory is
    /// the known one.
    package internal(set) var rootHold: SyncProblem? { didSet { holdBell.yield() } }
    package internal(set) var isPaused = false { didSet { holdBell.yield() } }
    /// Yields when `isPaused` or `rootHold` may have changed.
    private let (holdChanges, holdBell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (holdBeginnings, holdBegins) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
    var transfers = TransferList()
    /// Transfers whose bytes are in place and that the next turn records together.
    var stored: [FinishedTransfer] = []
    var isStoredPlanned = false
    var lastStored: Duration?
    /// Incoming files into which commands copy new attachments.
    var copies: Set<String> = []
    /// The former paths of files that have moved and are still to be read.
    var movedFrom: [TaskPath: TaskPath] = [:]
    /// Attachment directories that were renamed in the batch of changes that is being imported.
    var movedAttachmentDirectories: Set<TaskPath> = []
    /// Tasks that moved out of directories that no longer existed, with their attachments, by their
    /// files' former paths.
    var strandedAttachments: [TaskPath: TaskID] = [:]
    /// Attachments that were on this machine only when their tasks were deleted, by task; see
    /// `trashBeside`.
    var orphanedAttachments: [TaskID: OrphanedAttachments] = [:]
    /// The paused transfers, by `Transfer.pauseKey`.
    var pausedTransfers: Set<String> = []
    /// Files that a user attached with a command although they have the names of unfinished ones,
    /// by `Transfer.pauseKey`.
    var attachedPartials: Set<String> = []
    /// The versions of files whose uploads a user has cancelled, by `partialKey`.
    var declined: [String: OrphanedAttachments.Version] = [:]
    /// The files for which a task's document has no room, and the size of its contents at that time
    /// in bytes, by task.
    var withoutRoom: [TaskID: (names: Set<ExactText>, used: Int)] = [:]
    /// Downloads that have requested a repair of their content, with the problem; see `damageKey`.
    var reportedDamage: [String: String] = [:]
    /// Whether the store may lack objects that this machine uploaded earlier; see
    /// `offerAttachments`.
    var isOffering = false
    /// The progress of transfers in an earlier run of the daemon, by transfer, until the present
    /// one has caught up.
    var earlierProgress: [String: Int64] = [:]
    var lastProgress: Duration?
    /// The tasks whose attachments are all downloaded, whatever their sizes.
    var pinned: Set<TaskID> = []
    /// The functions that are called after each turn.
    var observers: [Int: @Sendable () -> Void] = [:]
    var turn = Turn()
    var lastTurn: Duration = .zero
    var isReleasePlanned = false
    /// The error after which no turn may follow; see `withExclusiveAccess`.
    var failure: SQLiteError?
    let (failures, failureBell) = AsyncStream.makeStream(of: SQLiteError.self, bufferingPolicy: .bufferingOldest(1))
    private var isLoaded = false
    /// Whether everything that the server had at the first start has arrived here.
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

    /// Returns the queries whose results are a user's tasks.
    package nonisolated static func queries(of userID: UserID, in database: DatabaseName) -> [Query] {
        let parent = ParentName(database)
        let isMine = Query.Filter.field(FieldPath(key: "userId"), .equal, .string(userID.rawValue))
        return [
            Query(parent: parent, collectionID: "lists", filter: isMine),
            Query(parent: parent, collectionID: "tasks", filter: isMine),
            Query(parent: parent, collectionID: TaskHistory.collection, allDescendants: true, filter: isMine),
        ]
    }

    /// Returns the corresponding queries of local documents. All of those may be seen by this user,
    /// because documents of others are here only if they are shared.
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

    /// Keeps both sides in step until cancelled.
    ///
    /// - Throws: An error of the state file.
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

    /// Reads the state file, unless that was done. Before that there are no tasks to show or
    /// change. `run` calls this, too.
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
            // The new store may lack the attachments of this machine.
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
                try tables.created(), try tables.reverted(), try tables.listDirectories()
            )
        }
        index = FileIndex(tables.0.map { ($0.path, FileIndex.Entry(task: $0.task, stamp: $0.stamp)) })
        for (list, path) in tables.1 { lists.set(list, path) }
        for (list, directory) in tables.19 { lists.set(list, directory) }
        for row in tables.2 { attachments.set(row) }
        held = tables.3
        waiting = held.mapValues { _ in .heldForReview(.delete) }
        pausedTransfers = Set(tables.4.split(separator: "\n").map(String.init))
        rememberedRetries = Set(tables.5.split(separator: "\n").map { TaskID(String($0)) })
        attachedPartials = Set(tables.6.split(separator: "\n").map(String.init))
        isOffering = tables.7
        pinned = Set(tables.8.split(separator: "\n").map { TaskID(String($0)) })
        // A refused change is reported by the export of its task, after a restart as well.
        let refused = try await client.pendingMutations(parkedOnly: true).map(\.mutation.name)
        retries = rememberedRetries.union(refused.filter { $0.collectionPath == "tasks" }.map(\.task))
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
        // The last run may have ended between creating a directory and recording which tasks wait
        // for it.
        retryMisplaced()
        let database = try await client.reading { $0.databaseName }
        // Directories of deleted lists that were not empty yet.
        for list in lists.paths.keys where isSynced && !isReadopted && catalog.listNames[list] == nil {
            if let name = try? DocumentName(list: list, in: database) { deletedLists.insert(name) }
        }
        try await client.keep(Self.queries(of: configuration.userID, in: database))
        // Servers whose rules do not support sharing refuse this query.
        try await client.keep(
            [Self.sharedLists(with: configuration.userID, in: database)]
                + ListInvitation.queries(of: configuration.userID, in: database), areOptional: true)
        isLoaded = true
    }

    /// Reads the catalog from the replica.
    ///
    /// - Returns: The lists.
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
            let path = self.lists.path(view.name.list)
            if path.map({ !Self.isNamed(view, $0.string) }) ?? true { retriedLists.insert(view.name) }
        }
        var page = try await tasks(after: nil, in: queries.tasks)
        while let current = page {
            // The client's thread reads the next ones while these are added to the catalog.
            async let next = tasks(after: current.last, in: queries.tasks)
            for (facts, view) in current.found {
                catalog.update(facts)
                // The present names of the files are right, except for those below, so none has to
                // be checked again.
                _ = names.set(facts.id, facts.request)
                noteMapped(facts.id, at: index.path(of: facts.id))
                // The last run was interrupted between the undo of a delete and the new file.
                if isSynced, facts.request != nil, index.path(of: facts.id) == nil { retries.insert(facts.id) }
                if facts.hasAttachments || !attachments.rows(of: facts.id).isEmpty {
                    await exportAttachments(of: view)
                }
            }
            page = try await next
        }
        // A name that was taken may be free now, or will be soon.
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
        try await client.reading { [reading = configuration.reading] transaction in
            try transaction.documents(query, only: TaskIndexEntry.fields, after: row, limit: Self.batchSize).map {
                page in
                (page.found.map { (TaskIndexEntry($0, in: reading), $0) }, page.last)
            }
        }
    }

    /// The first turn: checks the directory, starts watching it, and finds the changes since the
    /// last run.
    private func begin() async throws {
        do throws(FolderError) {
            try folder.startWatching()
        } catch {
            note(folder: SyncProblem(code: "not-watched", subject: nil, message: error.message))
        }
        // The documents of the server must be known before a file counts as new.
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

    /// Imports the changes that were not watched, if the directory is the known one.
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

    /// Removes paths from the index, so that their files are written again.
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

    /// Waits until the directory is the known one, whichever turn found that it is not, and then
    /// imports the changes that were not watched.
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

    /// Waits for the next changes outside of the actor, so that other turns can run.
    private nonisolated func nextFolderChanges() async throws -> [DebouncedChange] {
        try await changes.next(limit: 500)
    }

    private func followDocuments() async throws {
        var holds = holdChanges.makeAsyncIterator()
        while !Task.isCancelled {
            // One transaction for both, so that a change between two of them is not missed.
            let (hasChanges, latest) = try await client.reading { transaction in
                (try !transaction.changes(for: Self.consumer, limit: 1).isEmpty, transaction.latestSequence)
            }
            if !hasChanges { try await client.waitForChanges(after: latest) }
            while isPaused || rootHold != nil {
                guard await holds.next() != nil else { return }
            }
            // One batch per turn, so that an edit does not wait until thousands of files are
            // written.
            try await withExclusiveAccess { try await exportChanges(batches: 1) }
        }
    }

    static let consumer = "files"

    // MARK: Turns

    /// Calls a function after every turn, on the bridge's thread; it must be quick.
    ///
    /// - Returns: A number with which to end the calls.
    package func observe(_ action: @escaping @Sendable () -> Void) -> Int {
        let id = (observers.keys.max() ?? 0) + 1
        observers[id] = action
        return id
    }

    package func stopObserving(_ id: Int) { observers[id] = nil }

    /// Pauses or resumes syncing. A pause stops the transfers at once; they continue when it ends.
    package func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        guard !isPaused else {
            suspendRunning()
            // The user may want to unmount the file system.
            return folder.release()
        }
        startQueued()
        retryLater()
    }

    // MARK: Problems

    /// The problems that need a person, most severe first.
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

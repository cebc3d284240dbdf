import DocumentClient
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
import TaskModel

/// Tasks whose files are gone. What is found here is given to the planner, and `perform` does what
/// that plans.
extension TaskSync {
    /// Files that are gone for good, as far as the directory tells.
    func importRemovals(_ paths: [TaskPath]) async throws {
        guard try await checkRoot() else { return }
        let paths = paths.filter { !isOutOfSight($0) }
        var tasks: [String] = []
        var unwritten: [TaskPath] = []
        var attachments: [TaskPath] = []
        var obstructed: [TaskPath] = []
        let subjects = Set(paths.filter { folder.isAbsent($0) }.map(\.string))
        folderProblems = folderProblems.filter { !subjects.contains($0.value.subject ?? "") }
        for path in Set(paths) {
            if index[path] != nil, !subjects.contains(path.string) { obstructed.append(path) }
            problems[path.string] = nil
            if path.kind(isDirectory: false) == .attachment {
                attachments.append(path)
                continue
            }
            guard let entry = index[path], folder.isAbsent(path) else { continue }
            if entry.stamp == .none { unwritten.append(path) } else { tasks.append(entry.task) }
        }
        // A directory, say, is where a task's file was, which is not gone for that: reading it
        // reports what is in the way.
        try await importFiles(obstructed.filter { (try? folder.stamp($0)) == nil })
        // What this replica was cut off from writing was never there, so it has not been deleted either.
        try await forget(unwritten)
        let gone = try await withoutReturned(tasks)
        try await reconcile(gone, following: changes.missingCount)
        // What went with a task whose delete is held waits with it.
        try await attachmentsRemoved(attachments)
    }

    /// Those of tasks whose files are gone that do not go on in another file: a copy that was made
    /// just before, or one that an editor saved as Ferry moved it to the local trash.
    private func withoutReturned(_ tasks: [String]) async throws -> [String] {
        let deleted = try await client.reading { transaction in
            try tasks.filter { try TaskIndexEntry(transaction.task($0)).claim == nil }
        }
        let missing = Set(deleted.compactMap { index.path(of: $0) })
        let back = Set(try await takeBackFromTrash(missing).compactMap { index[$0]?.task })
        let living = Set(tasks).subtracting(deleted).filter { held[$0] == nil }.sorted()
        return deleted.filter { !back.contains($0) } + (try await withoutCopied(living))
    }

    /// Plans what becomes of tasks whose files are gone, and performs it. What cannot be done because
    /// a document has changed is planned again.
    ///
    /// - Parameters:
    ///   - following: the number of further files that are about to be found gone.
    ///   - decision: the user's decision about those of them whose deletes are held.
    func reconcile(_ tasks: [String], following: Int = 0, _ decision: Decision? = nil) async throws {
        var files: [String: PathState] = [:]
        for task in tasks {
            files[task] = lookFor(task)
            if files[task] == nil, waiting.removeValue(forKey: task) != nil { retries.insert(task) }
        }
        for _ in 0..<3 where !files.isEmpty {
            let now = environment.now() - start
            let plan = try await plan(files, recentDeletes.recent(at: now, following: following), decision)
            let failed = try await perform(plan).tasks
            recentDeletes.add(plan, at: now)
            files = files.filter { failed.contains($0.key) }
        }
        noteMissing(files.keys.compactMap { index.path(of: $0) })
    }

    /// Plans what becomes of some tasks.
    ///
    /// - Parameters:
    ///   - files: what is known of the file of each task.
    ///   - recent: the changes before and after those of the plan, which are of one kind.
    ///   - decision: the user's decision about those of the tasks that are held.
    func plan(
        _ files: [String: PathState], _ recent: RecentChanges, _ decision: Decision? = nil
    ) async throws -> Reconciliation.Plan {
        guard !files.isEmpty else { return Plan(operations: [], reasons: [:]) }
        let others = index.count - files.keys.count { index.path(of: $0) != nil }
        let (userID, time) = (configuration.userID, configuration.wallClock())
        let trees = try await client.reading { transaction in
            try Trees(of: files, otherTaskCount: others, userID: userID, machineTime: time, transaction)
        }
        var conditions = Conditions()
        (conditions.deletes, conditions.reverts) = (recent, recent)
        for task in files.keys {
            let node = NodeID.task(TaskID(task))
            if held[task] != nil { conditions.held[node] = .delete }
            // Without a decision the number of reverts decides again.
            if decision != nil, reverted[task] != nil { conditions.held[node] = .revert }
            conditions.decisions[node] = decision
        }
        return Planner.plan(trees, conditions)
    }

    /// Looks whether the file of a task that was found gone still is. One that is back is read next,
    /// and a held delete is not decided before that.
    ///
    /// - Returns: `nil` if the file is there, and its delete is not held.
    private func lookFor(_ task: String) -> PathState? {
        // What a power cut has left empty is filled first, also under another name.
        if pathOfUnfilled(task) == nil {
            guard let path = index.path(of: task), (try? folder.stamp(path)) != nil else { return .absent }
            changes.noteFound(path)
        }
        return held[task] == nil ? nil : .unreachable(.changing)
    }

    /// The file of another task was renamed over this one's: to the user this one is gone.
    func forgetReplaced(_ task: String) async throws {
        // Nothing reports the file again, so each change of the document meanwhile is planned here.
        while try await !perform(plan([task: .absent], RecentChanges())).tasks.isEmpty {}
    }

    // MARK: Held deletes

    /// Deletes, and files that went back to older versions, that wait for approval; by title.
    package var heldDeletes: [(entry: TaskCatalog.Entry, since: Int64, isRevert: Bool)] {
        let deletes = held.compactMap { task, since in catalog[task].map { ($0, since, false) } }
        let reverts = (isReviewingReverts ? [:] : reverted).compactMap { task, since in
            index.path(of: task) == nil ? nil : catalog[task].map { ($0, since, true) }
        }
        return (deletes + reverts).sorted { $0.0.title < $1.0.title }
    }

    /// Sends held deletes and reverts.
    package func approveDeletes(_ tasks: [String]) async throws {
        try await withExclusiveAccess {
            try await decideReverts(tasks.filter { reverted[$0] != nil }, .approve)
            try await decide(tasks, .approve)
            try await exportChanges()
        }
    }

    /// Brings the files of held deletes back, and those of held reverts to what their tasks are.
    package func restoreDeletes(_ tasks: [String]) async throws {
        try await withExclusiveAccess {
            try await decideReverts(tasks.filter { reverted[$0] != nil }, .restore)
            try await decide(tasks, .restore)
            try await exportRetries()
        }
    }

    private func decide(_ tasks: [String], _ decision: Decision) async throws {
        try await reconcile(tasks.filter { held[$0] != nil }, decision)
        if held.isEmpty { recentDeletes.clear() }
    }
}

import DocumentClient
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
package import TaskModel

/// Finds tasks whose files are gone. The planner decides what happens to them, and `perform` does
/// it.
extension TaskSync {
    /// Imports the removal of files.
    func importRemovals(_ paths: [TaskPath]) async throws {
        guard try await checkRoot() else { return }
        let paths = paths.filter { !isOutOfSight($0) && !isInCoveredList($0) }
        if Set(paths.map(\.parent)).contains(where: isReplaced) { return changes.askForScan() }
        var tasks: [TaskID] = []
        var unwritten: [TaskPath] = []
        var attachments: [TaskPath] = []
        var obstructed: [TaskPath] = []
        let subjects = Set(paths.filter { folder.isAbsent($0) }.map(\.string))
        folderProblems = folderProblems.filter { !subjects.contains($0.value.subject ?? "") }
        for path in Set(paths) {
            if index[path] != nil, !subjects.contains(path.string) { obstructed.append(path) }
            problems[path.string] = nil
            replacements[path] = nil
            if path.kind(isDirectory: false) == .attachment {
                attachments.append(path)
                continue
            }
            guard let entry = index[path], folder.isAbsent(path), !readReplacement(of: entry.task) else { continue }
            if entry.stamp == .none { unwritten.append(path) } else { tasks.append(entry.task) }
        }
        // Something else, such as a directory, is at the path of a task's file, so the file is not
        // gone. Reading it reports the problem.
        try await importFiles(obstructed.filter { (try? folder.stamp($0)) == nil })
        // An interrupted run did not write these files, so they were not deleted either.
        try await forget(unwritten)
        let gone = try await withoutReturned(tasks)
        try await reconcile(gone, following: changes.missingCount)
        // The attachments of a task whose delete is held wait with it.
        try await attachmentsRemoved(attachments)
    }

    /// Returns those of the tasks whose files are gone that do not continue in another file: a copy
    /// that was created just before, or a file that a program saved while Ferry moved it to the
    /// local trash.
    private func withoutReturned(_ tasks: [TaskID]) async throws -> [TaskID] {
        let deleted = try await client.reading { [reading = configuration.reading] transaction in
            try tasks.filter { try TaskIndexEntry(transaction.task($0), in: reading).request == nil }
        }
        let missing = Set(deleted.compactMap { index.path(of: $0) })
        let back = Set(try await takeBackFromTrash(missing).compactMap { index[$0]?.task })
        let living = Set(tasks).subtracting(deleted).filter { held[$0] == nil }.sorted()
        return deleted.filter { !back.contains($0) } + (try await withoutCopied(living))
    }

    /// Plans what happens to tasks whose files are gone, and performs the plan. Tasks whose
    /// documents have changed in the meantime are planned again.
    ///
    /// - Parameters:
    ///   - following: The number of further files that are about to be found gone.
    ///   - decision: The user's decision about those of the tasks whose deletes are held.
    func reconcile(_ tasks: [TaskID], following: Int = 0, _ decision: Decision? = nil) async throws {
        var files: [TaskID: PathState] = [:]
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

    /// Plans what happens to some tasks.
    ///
    /// - Parameters:
    ///   - files: The known state of each task's file.
    ///   - recent: The changes of the same kind before and after those of the plan.
    ///   - decision: The user's decision about those of the tasks that are held for review.
    func plan(
        _ files: [TaskID: PathState], _ recent: RecentChanges, _ decision: Decision? = nil
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
            let node = NodeID.task(task)
            if held[task] != nil { conditions.held[node] = .delete }
            // Without a decision the number of reverts counts again.
            if decision != nil, reverted[task] != nil { conditions.held[node] = .revert }
            conditions.decisions[node] = decision
        }
        return Planner.plan(trees, conditions)
    }

    /// Checks whether the file of a task that was found gone is back. A file that is back is read
    /// next, and a held delete is not decided before that.
    ///
    /// - Returns: The state of the file; nil if it exists and its delete is not held.
    private func lookFor(_ task: TaskID) -> PathState? {
        // The file has got the name of another one, which is looked for first.
        if readReplacement(of: task) { return nil }
        // A file that a power cut has left empty is filled first, also under another name.
        if pathOfUnfilled(task) == nil {
            guard let path = index.path(of: task), (try? folder.stamp(path)) != nil else { return .absent }
            changes.noteFound(path)
        }
        return held[task] == nil ? nil : .unreachable(.changing)
    }

    /// Handles the replacement of a task's file by the file of another task: for the user this file
    /// is gone.
    func forgetReplaced(_ task: TaskID) async throws {
        // No later event reports the file, so each change of the document in the meantime is
        // planned here.
        while try await !perform(plan([task: .absent], RecentChanges())).tasks.isEmpty {}
    }

    // MARK: Held deletes

    /// The deletes, and the files that went back to older versions, that are held for review, by
    /// title.
    package var heldDeletes: [(entry: TaskCatalog.Entry, since: Int64, isRevert: Bool)] {
        let deletes = held.compactMap { task, since in catalog[task].map { ($0, since, false) } }
        let reverts = (isReviewingReverts ? [:] : reverted).compactMap { task, since in
            index.path(of: task) == nil ? nil : catalog[task].map { ($0, since, true) }
        }
        return (deletes + reverts).sorted { $0.0.title < $1.0.title }
    }

    /// Sends held deletes and reverts.
    package func approveDeletes(_ tasks: [TaskID]) async throws {
        try await withExclusiveAccess {
            try await decideReverts(tasks.filter { reverted[$0] != nil }, .approve)
            try await decide(tasks, .approve)
            try await exportChanges()
        }
    }

    /// Restores the files of held deletes, and the contents of files whose reverts are held.
    package func restoreDeletes(_ tasks: [TaskID]) async throws {
        try await withExclusiveAccess {
            try await decideReverts(tasks.filter { reverted[$0] != nil }, .restore)
            try await decide(tasks, .restore)
            try await exportRetries()
        }
    }

    private func decide(_ tasks: [TaskID], _ decision: Decision) async throws {
        try await reconcile(tasks.filter { held[$0] != nil }, decision)
        if held.isEmpty { recentDeletes.clear() }
    }
}

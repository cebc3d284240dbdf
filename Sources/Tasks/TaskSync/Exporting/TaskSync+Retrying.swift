import DocumentClient
import DocumentModel
import SystemIO
import TaskFolder
import TaskModel

/// Handles tasks and lists that are behind: their files and directories have to be checked again,
/// now, after a pause or after a restart.
extension TaskSync {
    /// Checks everything that is behind.
    func exportRetries() async throws {
        guard rootHold == nil, !isPaused else { return }
        // Lists that change at every attempt must not occupy the turn forever.
        for _ in 0..<3 where !retriedLists.isEmpty {
            let lists = retriedLists
            retriedLists = []
            try await exportLists(lists)
        }
        for _ in 0..<3 where !retries.isEmpty {
            // A file is recorded as behind before it is renamed, so that a restart between the two
            // finds it.
            if !retries.isSubset(of: rememberedRetries) { try await acknowledge(through: nil) }
            let tasks = retries.sorted()
            for start in stride(from: 0, to: tasks.count, by: Self.batchSize) {
                try await export(Array(tasks[start..<min(start + Self.batchSize, tasks.count)]))
            }
        }
        try await settleParents()
        try await removeDeletedLists()
        try await fillAgain()
        try await bringBackLeftAgain()
        if folder.coveredLists.contains(where: { !isReplaced($0) }) { changes.askForScan() }
        if rememberedRetries != retries { try await acknowledge(through: nil) }
        try await settleVanishedLists()
        retryLater()
    }

    /// Advances the feed's position and records, in the same transaction, which files are still
    /// behind, so that a restart finds them.
    func acknowledge(through sequence: Int64?) async throws {
        let retries = retries
        // In the middle of the feed a few entries too many do no harm, so that hundreds of batches
        // do not each write thousands of names.
        let isNew = sequence == nil ? retries != rememberedRetries : !retries.isSubset(of: rememberedRetries)
        try await client.transaction { transaction in
            if let sequence {
                try transaction.acknowledge(through: sequence, for: Self.consumer)
                if try transaction.changes(for: Self.consumer, limit: 1).isEmpty, let time = try transaction.remoteTime
                {
                    try SyncTables(transaction).setSeenTime(time)
                }
            }
            if isNew { try SyncTables(transaction).setRetries(retries) }
        }
        if isNew { rememberedRetries = retries }
    }

    /// Records a task whose file is changed in two steps.
    func rememberRetry(_ task: TaskID) async throws {
        let known = rememberedRetries
        guard !known.contains(task) else { return }
        rememberedRetries = try await client.transaction { try SyncTables($0).addRetries([task], to: known) }
    }

    /// Checks again after a delay, because no event reports that a disk has room or a directory is
    /// writable again.
    func retryLater() {
        let awaitsNews = !parents.isEmpty || vanishedLists.keys.contains(where: isNewlyMissed)
        let hasCovered = !folder.coveredLists.isEmpty
        guard !retries.isEmpty || !retriedLists.isEmpty || awaitsNews || hasCovered else {
            retryDelay = Backoff.firestore
            return
        }
        guard !isRetryPlanned else { return }
        isRetryPlanned = true
        let delay = retryDelay.next(random: environment.fraction, isOverloaded: false)
        // No event reports that a file system is mounted.
        let pause = hasCovered ? min(delay, .seconds(2)) : delay
        // The task ends after one check, and does not keep the bridge alive.
        Task { [weak self, environment] in
            try? await environment.sleep(for: pause)
            try? await self?.retryNow()
        }
    }

    private func retryNow() async throws {
        try await withExclusiveAccess {
            isRetryPlanned = false
            try await exportRetries()
        }
    }
}

extension SyncTables {
    fileprivate func setRetries(_ tasks: Set<TaskID>) throws {
        try setState("retries", tasks.map(\.rawValue).sorted().joined(separator: "\n"))
    }

    /// Records that the files of more tasks are behind.
    ///
    /// - Returns: All tasks whose files are recorded as behind.
    func addRetries(_ tasks: [TaskID], to known: Set<TaskID>) throws -> Set<TaskID> {
        let all = known.union(tasks)
        if all != known { try setRetries(all) }
        return all
    }
}

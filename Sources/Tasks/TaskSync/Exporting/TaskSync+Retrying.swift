import DocumentClient
import DocumentModel
import SystemIO

/// What is behind: tasks and lists whose files and directories have to be looked at again, now,
/// after a pause or after a restart.
extension TaskSync {
    /// Looks at all that is behind.
    func exportRetries() async throws {
        guard rootHold == nil, !isPaused else { return }
        // What changes at every try must not keep the turn.
        for _ in 0..<3 where !retriedLists.isEmpty {
            let lists = retriedLists
            retriedLists = []
            try await exportLists(lists)
        }
        for _ in 0..<3 where !retries.isEmpty {
            // A file gets its name before what that asks for: a restart between the two must find that it is behind.
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
        if rememberedRetries != retries { try await acknowledge(through: nil) }
        try await settleVanishedLists()
        retryLater()
    }

    /// Goes on in the feed and keeps, in the same transaction, which files are still behind: a restart finds them.
    func acknowledge(through sequence: Int64?) async throws {
        let retries = retries
        // In the middle of the feed some too many do no harm: hundreds of batches need not write
        // thousands of names each.
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

    /// The same for one whose file is half done at a moment.
    func rememberRetry(_ task: String) async throws {
        let known = rememberedRetries
        guard !known.contains(task) else { return }
        rememberedRetries = try await client.transaction { try SyncTables($0).addRetries([task], to: known) }
    }

    /// Nothing tells when a disk has room or a directory may be written again, so time does.
    func retryLater() {
        let awaitsNews = !parents.isEmpty || vanishedLists.keys.contains(where: isNewlyMissed)
        guard !retries.isEmpty || !retriedLists.isEmpty || awaitsNews else {
            retryDelay = Backoff.firestore
            return
        }
        guard !isRetryPlanned else { return }
        isRetryPlanned = true
        let pause = retryDelay.next(random: environment.fraction, isOverloaded: false)
        // Ends by itself after one look; a bridge that is gone is not held.
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
    fileprivate func setRetries(_ tasks: Set<String>) throws {
        try setState("retries", tasks.sorted().joined(separator: "\n"))
    }

    /// Keeps that the files of more tasks are behind; answers all that are known to be.
    func addRetries(_ tasks: [String], to known: Set<String>) throws -> Set<String> {
        let all = known.union(tasks)
        if all != known { try setRetries(all) }
        return all
    }
}

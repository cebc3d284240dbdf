import DocumentClient
import DocumentModel
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Files that went back to an older version, as by a copy of an old backup over the directory; see
/// `RevertGuard`.
extension TaskSync {
    /// Holds those of the files that are older versions of their tasks if these are many.
    ///
    /// - Parameter following: The number of further files that are still to be read.
    /// - Returns: The files that are not held.
    func withoutHeldReverts(_ files: [ImportedFile], following: Int) async throws -> [ImportedFile] {
        let known = files.filter { !$0.isNew && $0.source == nil && $0.deleted == nil && $0.joined == nil }
        let older = Set(try await reverts(among: known.map { ($0.task, $0.file.bytes) }))
        guard !older.isEmpty else { return files }
        let (tasks, others) = (older.sorted(), reverted.keys.count { !older.contains($0) })
        let now = environment.now() - start
        if revertGuard.mayBeMany(tasks, held: others, following: following, at: now) {
            reviewRevertsLater()
        } else if !revertGuard.holds(tasks, held: others, of: index.count, at: now) {
            return files
        }
        let since = configuration.wallClock()
        let new = older.filter { reverted[$0] == nil }
        if !new.isEmpty {
            try await client.transaction { transaction in
                for task in new { try SyncTables(transaction).setReverted(task, since: since) }
            }
            for task in new { reverted[task] = since }
        }
        return files.filter { !older.contains($0.task) }
    }

    /// The tasks whose files say what they said before the version that was last in step.
    private func reverts(among files: [(task: String, bytes: [UInt8])]) async throws -> [String] {
        guard !files.isEmpty else { return [] }
        return try await client.reading { transaction in
            let tables = SyncTables(transaction)
            return try files.filter { try tables.isFormerVersion($0.bytes, of: $0.task) }.map(\.task)
        }
    }

    /// Whether the change of a file waits for approval still: it is another older version. One that
    /// is edited, or as it was before, waits no more.
    func isHeldRevert(_ path: TaskPath, _ content: TaskFileContent) async throws -> Bool {
        guard let task = index[path]?.task, reverted[task] != nil else { return false }
        if try await !reverts(among: [(task, content.bytes)]).isEmpty { return true }
        try await forgetReverts([task])
        return false
    }

    /// Looks at the reverts that wait once no more of them come.
    func reviewRevertsLater() {
        lastRevert = environment.now()
        guard !isReviewingReverts else { return }
        isReviewingReverts = true
        // Ends by itself after one look; a bridge that is gone is not held.
        Task { [weak self, environment] in
            try? await environment.sleep(for: Self.revertPause)
            try? await self?.reviewReverts()
        }
    }

    private static let revertPause: Duration = .seconds(2)

    private func reviewReverts() async throws {
        try await withExclusiveAccess {
            isReviewingReverts = false
            guard rootHold == nil else { return reviewRevertsLater() }
            if changes.pendingCount > 0 || environment.now() < (lastRevert ?? .zero) + Self.revertPause {
                let last = lastRevert
                reviewRevertsLater()
                lastRevert = last
                return
            }
            try await settleReverts()
            try await exportRetries()
        }
    }

    /// Sends the reverts that wait if they turned out to be few, and forgets those whose files have gone.
    private func settleReverts() async throws {
        try await forgetReverts(reverted.keys.filter { index.path(of: $0) == nil })
        let tasks = reverted.keys.sorted()
        if !revertGuard.holds(tasks, of: index.count, at: environment.now() - start) { try await sendReverts(tasks) }
    }

    /// Takes reverts for edits.
    func sendReverts(_ tasks: [String]) async throws {
        try await forgetReverts(tasks)
        try await importFiles(tasks.compactMap { index.path(of: $0) }, sendsReverts: true)
    }

    /// Moves the files of held reverts to the local trash, and writes them again as their tasks are.
    func undoReverts(_ tasks: [String]) async throws {
        for task in tasks {
            guard let path = index.path(of: task) else { continue }
            do throws(FolderError) {
                guard let stamp = try folder.stamp(path) else { continue }
                _ = try folder.trash([TrashItem(path: path, expecting: .stamp(stamp))])
            } catch {
                note(
                    SyncProblem(code: "not-written", subject: path.string, message: error.message, hint: nil),
                    for: "export \(task)")
                continue
            }
            try await client.transaction { transaction in
                try SyncTables(transaction).setReverted(task, since: nil)
                try SyncTables(transaction).removeFile(task)
            }
            reverted[task] = nil
            index.remove(task: task)
            retries.insert(task)
        }
        retries.formUnion(misnamed)
    }

    func forgetReverts(_ tasks: [String]) async throws {
        let tasks = tasks.filter { reverted[$0] != nil }
        guard !tasks.isEmpty else { return }
        try await client.transaction { transaction in
            for task in tasks { try SyncTables(transaction).setReverted(task, since: nil) }
        }
        for task in tasks { reverted[task] = nil }
        // What came from elsewhere meanwhile is still to be written.
        retries.formUnion(tasks)
    }
}

extension SyncTables {
    private static let reverted = "reverted "
    /// As many former versions of each file are known.
    private static let versionLimit = 20

    /// By task, since when the revert of its file is held.
    func reverted() throws -> [String: Int64] {
        var found: [String: Int64] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.reverted + "*")]) { row in
            found[String(row.text(0).dropFirst(Self.reverted.count))] = Int64(row.text(1)) ?? 0
        }
        return found
    }

    func setReverted(_ task: String, since: Int64?) throws {
        let key = Self.reverted + task
        if let since { try setState(key, "\(since)") } else { try removeState(key) }
    }

    /// Remembers what a task's file said, if it is about to say something else.
    func noteVersion(of task: String, before bytes: [UInt8]) throws {
        try database.execute(
            "INSERT INTO sync_version(task, size, hash) SELECT task, length(bytes), row_sum(bytes) FROM sync_file "
                + "WHERE task = ? AND bytes <> ? AND length(bytes) > 0", [.text(task), .blob(bytes)])
        guard database.changedRowCount > 0 else { return }
        try database.execute(
            "DELETE FROM sync_version WHERE task = ?1 AND id <= "
                + "(SELECT id FROM sync_version WHERE task = ?1 ORDER BY id DESC LIMIT 1 OFFSET \(Self.versionLimit))",
            [.text(task)])
    }

    /// Whether a task's file said this before what it said last, as far as that is known.
    func isFormerVersion(_ bytes: [UInt8], of task: String) throws -> Bool {
        let sql =
            "SELECT 1 FROM sync_version v JOIN sync_file f ON f.task = v.task WHERE v.task = ?1 AND v.size = ?2 "
            + "AND v.hash = row_sum(?3) AND f.bytes <> ?3 LIMIT 1"
        return try database.first(sql, [.text(task), .integer(Int64(bytes.count)), .blob(bytes)]) { _ in true } ?? false
    }
}

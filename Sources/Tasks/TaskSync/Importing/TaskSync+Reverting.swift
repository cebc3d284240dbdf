import DocumentClient
import DocumentModel
import Reconciliation
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Finds files that went back to an older version, for example because an old backup was copied
/// over the directory. The planner holds them for review if there are many.
extension TaskSync {
    /// Holds the files that are older versions of their tasks if there are many of them.
    ///
    /// - Parameter following: The number of further files that are still to be read.
    /// - Returns: The files that are not held.
    func withoutHeldReverts(_ files: [ImportedFile], following: Int) async throws -> [ImportedFile] {
        let known = files.filter { !$0.isNew && $0.source == nil && $0.deleted == nil && $0.joined == nil }
        let older = try await formerVersions(among: known.map { ($0.task, $0.stamp, $0.file.bytes) })
        let others = reverted.keys.count { older[$0] == nil }
        let held = try await reconcile(reverts: older, recentReverts(older, following: others + following))
        if !held.isEmpty {
            // Others may have had what these files say, and a power cut would take it.
            folder.synchronize(files.filter { held.contains($0.task) }.map(\.path))
            reviewRevertsLater()
        }
        return files.filter { !held.contains($0.task) }
    }

    private func recentReverts(_ files: [TaskID: PathState], following: Int) -> RecentChanges {
        let nodes = Set(files.keys.map { NodeID.task($0) })
        return recentReverts.recent(besides: nodes, at: environment.now() - start, following: following)
    }

    /// Plans what happens to files that went back to older versions, and performs the plan. The
    /// import handles those that the plan takes for edits.
    ///
    /// - Returns: The tasks whose reverts are held.
    private func reconcile(
        reverts files: [TaskID: PathState], _ recent: RecentChanges, _ decision: Decision? = nil
    ) async throws -> Set<TaskID> {
        guard !files.isEmpty else { return [] }
        let plan = try await plan(files, recent, decision)
        var records = plan
        if decision != .restore { records.operations.removeAll { ![.hold(.revert), .release].contains($0.action) } }
        for path in try await perform(records).files { changes.noteFound(path) }
        recentReverts.add(plan, at: environment.now() - start)
        return Set(files.keys.filter { plan.reasons[.task($0)] == .heldForReview(.revert) })
    }

    /// Returns those of the files that have a text from before the version that was last in step.
    private func formerVersions(
        among files: [(task: TaskID, stamp: FileStamp, bytes: [UInt8])]
    ) async throws -> [TaskID: PathState] {
        guard !files.isEmpty else { return [:] }
        return try await client.reading { transaction in
            let tables = SyncTables(transaction)
            var found: [TaskID: PathState] = [:]
            for file in files where try tables.isFormerVersion(file.bytes, of: file.task) {
                guard var row = try tables.file(file.task) else { continue }
                (row.stamp, row.bytes) = (file.stamp, file.bytes)
                found[file.task] = PathState(row, try transaction.task(file.task), isFormerVersion: true)
            }
            return found
        }
    }

    /// Whether the change of a file is still held for review, because it is another older version.
    /// A file that was edited, or that has its last version again, is not held any more.
    func isHeldRevert(_ path: TaskPath, _ content: TaskFileContent) async throws -> Bool {
        guard let task = index[path]?.task, reverted[task] != nil else { return false }
        if try await !formerVersions(among: [(task, content.stamp, content.bytes)]).isEmpty { return true }
        try await forgetReverts([task])
        return false
    }

    /// Decides the held reverts again once no more of them arrive.
    func reviewRevertsLater() {
        lastRevert = environment.now()
        guard !isReviewingReverts else { return }
        isReviewingReverts = true
        // The task ends after one decision, and does not keep the bridge alive.
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
            try await decideReverts(reverted.keys.sorted())
            try await exportRetries()
        }
    }

    /// Plans held reverts again, by the user's decision or by their number. Files that are not held
    /// any more are read, and the reverts of files that are gone are forgotten.
    func decideReverts(_ tasks: [TaskID], _ decision: Decision? = nil) async throws {
        var files: [TaskID: PathState] = [:]
        for start in stride(from: 0, to: tasks.count, by: Self.batchSize) {
            let batch = tasks[start..<min(start + Self.batchSize, tasks.count)].compactMap { task in
                index.path(of: task).flatMap { try? folder.read($0) }.map { (task, $0.stamp, $0.bytes) }
            }
            files.merge(try await formerVersions(among: batch)) { $1 }
        }
        var recent = recentReverts(files, following: 0)
        recent.isHolding = false
        let held = try await reconcile(reverts: files, recent, decision)
        let decided = tasks.filter { !held.contains($0) }
        try await forgetReverts(decided)
        guard decision != .restore else { return }
        try await importFiles(decided.compactMap { index.path(of: $0) }, sendsReverts: true)
    }

    func forgetReverts(_ tasks: [TaskID]) async throws {
        let tasks = tasks.filter { reverted[$0] != nil }
        guard !tasks.isEmpty else { return }
        try await client.transaction { transaction in
            for task in tasks { try SyncTables(transaction).setReverted(task, since: nil) }
        }
        for task in tasks { reverted[task] = nil }
        // Changes that arrived in the meantime are still to be written.
        retries.formUnion(tasks)
    }
}

extension SyncTables {
    private static let reverted = "reverted "
    /// The number of former versions that are known of each file.
    private static let versionLimit = 20

    /// Returns the times since when reverts are held, by task.
    func reverted() throws -> [TaskID: Int64] {
        var found: [TaskID: Int64] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.reverted + "*")]) { row in
            found[TaskID(String(row.text(0).dropFirst(Self.reverted.count)))] = Int64(row.text(1)) ?? 0
        }
        return found
    }

    func setReverted(_ task: TaskID, since: Int64?) throws {
        let key = Self.reverted + task.rawValue
        if let since { try setState(key, "\(since)") } else { try removeState(key) }
    }

    /// Remembers the text of a task's file if it is about to change.
    func noteVersion(of task: TaskID, before bytes: [UInt8]) throws {
        try database.execute(
            "INSERT INTO sync_version(task, size, hash) SELECT task, length(bytes), row_sum(bytes) FROM sync_file "
                + "WHERE task = ? AND bytes <> ? AND length(bytes) > 0", [.id(task), .blob(bytes)])
        guard database.changedRowCount > 0 else { return }
        try database.execute(
            "DELETE FROM sync_version WHERE task = ?1 AND id <= "
                + "(SELECT id FROM sync_version WHERE task = ?1 ORDER BY id DESC LIMIT 1 OFFSET \(Self.versionLimit))",
            [.id(task)])
    }

    /// Whether a task's file had this text before its last one, as far as that is remembered.
    func isFormerVersion(_ bytes: [UInt8], of task: TaskID) throws -> Bool {
        let sql =
            "SELECT 1 FROM sync_version v JOIN sync_file f ON f.task = v.task WHERE v.task = ?1 AND v.size = ?2 "
            + "AND v.hash = row_sum(?3) AND f.bytes <> ?3 LIMIT 1"
        return try database.first(sql, [.id(task), .integer(Int64(bytes.count)), .blob(bytes)]) { _ in true } ?? false
    }
}

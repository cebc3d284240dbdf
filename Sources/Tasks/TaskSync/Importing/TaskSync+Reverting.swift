import DocumentClient
import DocumentModel
import Reconciliation
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Files that went back to an older version, as by a copy of an old backup over the directory. The
/// planner holds many of them.
extension TaskSync {
    /// Holds those of the files that are older versions of their tasks if these are many.
    ///
    /// - Parameter following: The number of further files that are still to be read.
    /// - Returns: The files that are not held.
    func withoutHeldReverts(_ files: [ImportedFile], following: Int) async throws -> [ImportedFile] {
        let known = files.filter { !$0.isNew && $0.source == nil && $0.deleted == nil && $0.joined == nil }
        let older = try await formerVersions(among: known.map { ($0.task, $0.stamp, $0.file.bytes) })
        let others = reverted.keys.count { older[$0] == nil }
        let held = try await reconcile(reverts: older, recentReverts(older, following: others + following))
        if !held.isEmpty { reviewRevertsLater() }
        return files.filter { !held.contains($0.task) }
    }

    private func recentReverts(_ files: [String: PathState], following: Int) -> RecentChanges {
        let nodes = Set(files.keys.map { NodeID.task(TaskID($0)) })
        return recentReverts.recent(besides: nodes, at: environment.now() - start, following: following)
    }

    /// Plans what becomes of files that went back to older versions, and performs it. What the plan
    /// takes for edits is left to the import.
    ///
    /// - Returns: The tasks whose reverts are held.
    private func reconcile(
        reverts files: [String: PathState], _ recent: RecentChanges, _ decision: Decision? = nil
    ) async throws -> Set<String> {
        guard !files.isEmpty else { return [] }
        let plan = try await plan(files, recent, decision)
        var records = plan
        if decision != .restore { records.operations.removeAll { ![.hold(.revert), .release].contains($0.action) } }
        for path in try await perform(records).files { changes.noteFound(path) }
        recentReverts.add(plan, at: environment.now() - start)
        return Set(files.keys.filter { plan.reasons[.task(TaskID($0))] == .heldForReview(.revert) })
    }

    /// Those of files that say what they said before the version that was last in step.
    private func formerVersions(
        among files: [(task: String, stamp: FileStamp, bytes: [UInt8])]
    ) async throws -> [String: PathState] {
        guard !files.isEmpty else { return [:] }
        return try await client.reading { transaction in
            let tables = SyncTables(transaction)
            var found: [String: PathState] = [:]
            for file in files where try tables.isFormerVersion(file.bytes, of: file.task) {
                guard var row = try tables.file(file.task) else { continue }
                (row.stamp, row.bytes) = (file.stamp, file.bytes)
                found[file.task] = PathState(row, try transaction.task(file.task), isFormerVersion: true)
            }
            return found
        }
    }

    /// Whether the change of a file waits for approval still: it is another older version. One that
    /// is edited, or as it was before, waits no more.
    func isHeldRevert(_ path: TaskPath, _ content: TaskFileContent) async throws -> Bool {
        guard let task = index[path]?.task, reverted[task] != nil else { return false }
        if try await !formerVersions(among: [(task, content.stamp, content.bytes)]).isEmpty { return true }
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
            try await decideReverts(reverted.keys.sorted())
            try await exportRetries()
        }
    }

    /// Plans again what becomes of reverts that are held, by the decision of the user or by their
    /// number. What is not held any more is read, and that of files that have gone is forgotten.
    func decideReverts(_ tasks: [String], _ decision: Decision? = nil) async throws {
        var files: [String: PathState] = [:]
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

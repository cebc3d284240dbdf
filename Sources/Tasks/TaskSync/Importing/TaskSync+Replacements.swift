import DocumentClient
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Handles files that have the names of other tasks' files.
extension TaskSync {
    /// A file that has the name of another task's file, whose whereabouts are not known yet.
    struct Replacement {
        /// The task of the file.
        var task: TaskID
        /// When it was first found there, on the clock of `start`.
        var since: Duration
    }

    /// Follows files that are left out beneath a directory that was renamed.
    func moveReplacements(from: TaskPath, to: TaskPath) {
        let moved = replacements.map { ($0.key.moved(from: from, to: to), $0.value) }
        replacements = Dictionary(moved) { first, _ in first }
    }

    /// Reads a task's file again, which is missing under its known name, if it has got the name of
    /// another file. If it is not there any more, it is looked for again.
    ///
    /// - Returns: Whether it had that name.
    func readReplacement(of task: TaskID) -> Bool {
        guard let place = replacements.first(where: { $0.value.task == task })?.key else { return false }
        changes.noteFound(place)
        if let known = index.path(of: task) { noteMissing([known]) }
        return true
    }

    /// Reads the files of replaced tasks whose new names are those of other files that have moved
    /// too, in this batch or in an earlier one.
    ///
    /// - Returns: Those of an earlier batch.
    func readReplaced(
        _ replaced: inout Set<TaskID>, _ imported: inout [ImportedFile], _ seen: inout Set<TaskPath>
    ) async throws -> [TaskPath: Replacement] {
        var sought = replaced
        while let task = sought.popFirst() {
            guard !imported.contains(where: { $0.task == task }),
                let known = index.path(of: task).flatMap({ index[$0] })
            else { continue }
            let place =
                replacements.first { $0.value.task == task }?.key
                ?? imported.compactMap(\.source).first { path in
                    (try? folder.stamp(path))?.isFile(of: known.stamp) == true
                }
            guard let place, seen.insert(place).inserted else { continue }
            var more: Set<TaskID> = []
            if let file = try await read(place, settled: nil, claimed: imported, &more) { imported.append(file) }
            sought.formUnion(more.subtracting(replaced))
            replaced.formUnion(more)
        }
        defer { for path in seen { replacements[path] = nil } }
        return replacements
    }

    /// Returns the tasks whose rows have the paths of these files, and whose own files have moved and
    /// are still to be read under their new names.
    ///
    /// - Parameter gone: The tasks whose files are gone.
    func unreadOwners(ofPathsOf files: [ImportedFile], besides gone: [TaskID]) async throws -> [TaskID] {
        let arriving = files.filter { $0.source != nil || index[$0.path]?.task != $0.task }.map(\.path)
        guard !arriving.isEmpty else { return [] }
        let owners = try await client.reading { transaction in
            try arriving.compactMap { try SyncTables(transaction).owner(of: $0) }
        }
        let known = Set(files.map(\.task)).union(gone)
        return owners.filter { !known.contains($0) }
    }

    /// Leaves out files that have the names of others while there are renames that are still to be
    /// reported, at most as long as until a missing file counts as deleted. In a cycle of
    /// names each file waits for the next.
    ///
    /// - Parameters:
    ///   - replaced: The tasks whose files were replaced.
    ///   - earlier: The files that were left out before.
    /// - Returns: Those of the replaced tasks whose files are gone.
    func postponeReplacements(
        by imported: inout [ImportedFile], of replaced: Set<TaskID>, _ earlier: [TaskPath: Replacement]
    ) -> [TaskID] {
        guard !replaced.isEmpty else { return [] }
        let now = environment.now() - start
        let mayCome = !folder.isFullyWatched || (try? changes.hasRenames()) != false
        var present = Set(imported.map(\.task))
        var gone: Set<TaskID> = []
        while true {
            let early = imported.filter { file in
                guard let owner = index[file.path]?.task, owner != file.task, !present.contains(owner) else {
                    return false
                }
                let former = earlier[file.path].flatMap { $0.task == file.task ? $0 : nil }
                let since = former?.since ?? now
                let isGone = !mayCome || now - since >= changes.removalDelay
                if isGone, !replacements.values.contains(where: { $0.task == owner }) {
                    gone.insert(owner)
                    return false
                }
                replacements[file.path] = Replacement(task: file.task, since: since)
                return true
            }
            guard !early.isEmpty else { return gone.sorted() }
            for file in early {
                logger.debug("'\(file.path)' of \(file.task) waits for the file that it replaced")
                changes.noteFound(file.path)
            }
            let paths = Set(early.map(\.path))
            imported.removeAll { paths.contains($0.path) }
            present.subtract(early.map(\.task))
        }
    }
}

import DocumentClient
import DocumentModel
import Reconciliation
import SQLite
import TaskFolder
import TaskModel

/// Marks the directories of lists, so that an absent mount, or something mounted over a list, is
/// not taken for a list without tasks.
extension TaskSync {
    /// Returns the properties that distinguish the directory at a path; nil if it cannot be examined.
    private func listDirectory(at path: TaskPath) -> ListDirectory? {
        do throws(FolderError) {
            return ListDirectory(mark: try folder.listMark(path), isMount: try folder.isMountPoint(path))
        } catch {
            return nil
        }
    }

    /// Whether the directory at the path of a list is not the list's, as a scan has just found its
    /// contents.
    ///
    /// - Parameters:
    ///   - files: The task files in the directory.
    ///   - directories: The directories in it. Files in these are not looked for.
    func isCovered(_ path: TaskPath, _ files: [ScannedFile], _ directories: Set<TaskPath>) -> Bool {
        guard let known = lists.id(path).flatMap({ lists.directory(of: $0) }),
            let found = listDirectory(at: path), found != known
        else { return false }
        let expected = index.paths(beneath: path).filter { file in
            index[file].map { $0.stamp != .none } == true && !directories.contains(where: file.isBeneath)
        }
        let names = Set(files.map(\.path))
        return found.covers(known, expected: expected.count, present: expected.count(where: names.contains))
    }

    /// Whether the directory of a list, or one above it, has become another one since the last scan.
    /// No event reports what is mounted over a directory, so a scan has to find out.
    func isReplaced(_ directory: TaskPath) -> Bool {
        var directory = directory
        while !directory.isRoot {
            if let known = lists.id(directory).flatMap({ lists.directory(of: $0) }),
                let found = listDirectory(at: directory), found != known
            {
                return true
            }
            directory = directory.parent
        }
        return false
    }

    /// The same, for many files.
    ///
    /// - Parameter known: The results for directories that were examined already.
    func isReplaced(_ directory: TaskPath, _ known: inout [TaskPath: Bool]) -> Bool {
        if let known = known[directory] { return known }
        let isReplaced = isReplaced(directory)
        known[directory] = isReplaced
        return isReplaced
    }

    /// Whether a path is in a list that the last scan found covered.
    func isInCoveredList(_ path: TaskPath) -> Bool {
        let covered = folder.coveredLists
        return !covered.isEmpty && covered.contains { path == $0 || path.isBeneath($0) }
    }

    /// Marks directories of lists that are not marked, or are not the known ones, and remembers
    /// them.
    ///
    /// Each mark is used once: a directory over which another one is mounted has an earlier mark of
    /// the same list.
    func markLists(at paths: [TaskPath]) async throws {
        var marked: [ListID: ListDirectory] = [:]
        for path in paths {
            guard let list = lists.id(path), !isInCoveredList(path) else { continue }
            let known = lists.directory(of: list)
            guard var found = listDirectory(at: path) else { continue }
            if found.mark == nil || found != known {
                let mark = "\(list)/\(DocumentID.make(in: environment))"
                if (try? folder.setListMark(path, to: mark)) == true { found.mark = mark }
            }
            if found != known { marked[list] = found }
        }
        guard !marked.isEmpty else { return }
        for (list, directory) in marked { lists.set(list, directory) }
        let new = marked
        try await client.transaction { transaction in
            for (list, directory) in new { try SyncTables(transaction).put(list: list, directory) }
        }
    }
}

extension SyncTables {
    private static let mark = "list-mark "

    /// Returns the directories of lists, by list.
    func listDirectories() throws -> [ListID: ListDirectory] {
        var found: [ListID: ListDirectory] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.mark + "*")]) { row in
            let value = row.text(1)
            let mark = value.dropFirst()
            found[ListID(String(row.text(0).dropFirst(Self.mark.count)))] = ListDirectory(
                mark: mark.isEmpty ? nil : String(mark), isMount: value.hasPrefix("+"))
        }
        return found
    }

    func put(list: ListID, _ directory: ListDirectory) throws {
        try setState(Self.mark + list.rawValue, (directory.isMount ? "+" : "-") + (directory.mark ?? ""))
    }

    func removeDirectory(of list: ListID) throws { try removeState(Self.mark + list.rawValue) }
}

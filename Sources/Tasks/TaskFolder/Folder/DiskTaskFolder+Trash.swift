import SystemIO

extension DiskTaskFolder {
    package func trash(_ items: [TrashItem], as name: String) throws(FolderError) -> TrashOutcome {
        try trash.take(items, as: name)
    }

    package func nextTrashName() -> String { trash.nextName() }

    package func trashEntries() throws(FolderError) -> [TrashEntry] { try trash.entries() }

    package func trashedFiles(_ entry: TrashEntry) throws(FolderError) -> [(name: String, stamp: FileStamp)] {
        try trash.files(of: entry)
    }

    package func takeFromTrash(_ entry: TrashEntry, _ name: String, to target: TaskPath) throws(FolderError) -> Bool {
        try trash.restore(entry, name, to: target)
    }

    package func takeBackFromTrash(_ missing: [TaskPath: FileStamp]) throws(FolderError) -> [TaskPath] {
        try trash.takeBack(missing)
    }

    package func purge(_ entry: TrashEntry) throws(FolderError) { try trash.purge(entry) }

    // MARK: Displaced files

    package func recoveredNames() throws(FolderError) -> [String] { try disk.names(in: TaskPath.recoveredDirectory) }

    package func removeRecovered(_ name: String) throws(FolderError) {
        if let problem = NameProblem(of: name) { throw FolderError(.invalidName, problem.description) }
        let path = TaskPath.recoveredDirectory + "/" + name
        do throws(SystemError) {
            if try disk.status(path).kind == .directory { try disk.removeTree(path) } else { try disk.remove(path) }
        } catch {
            if error.code != .notFound { throw FolderError(error) }
        }
    }
}

import SystemIO

/// Operations on the disk that several parts of a task folder share, with the folder's errors.
extension FolderDisk {
    /// Returns the status of a path; nil if nothing is there.
    func statusIfPresent(_ path: TaskPath) throws(FolderError) -> FileStatus? {
        do throws(SystemError) {
            return try status(path.string)
        } catch {
            if error.code == .notFound { return nil }
            throw FolderError(error)
        }
    }

    /// Makes a list's or an attachments directory and those above it.
    func makeDirectory(_ path: TaskPath) throws(FolderError) {
        switch path.kind(isDirectory: true) {
        case .list, .attachments: break
        default: throw FolderError(.invalidName, "\(path) would be no list and no attachments directory")
        }
        try translating { () throws(SystemError) in
            try makeDirectories(path.string)
            try synchronizeDirectory(path.parent.string)
        }
    }

    /// Makes the directory that `path` is in.
    func makeParents(of path: TaskPath) throws(FolderError) {
        if path.parent.isRoot { return }
        if try statusIfPresent(path.parent) == nil { try makeDirectory(path.parent) }
    }

    /// The names in a directory; none where there is no such directory.
    func names(in directory: String) throws(FolderError) -> [String] {
        var names: [String] = []
        do throws(SystemError) {
            _ = try visit(directory, watching: false, wantsStatus: { _ in false }) { entry, _ in
                if entry.invalidBytes == nil { names.append(entry.name) }
            }
        } catch {
            if error.code != .notFound { throw FolderError(error) }
        }
        return names
    }

    // MARK: Renaming

    /// Renames unless the name is taken: then `isDone` is false.
    ///
    /// - Returns: Also what was copied, if the target is on another file system.
    func renameExclusively(
        _ path: String, to target: String
    ) throws(FolderError) -> (isDone: Bool, copied: CopiedMove?) {
        do throws(SystemError) {
            return (true, try move(path, to: target, .exclusive))
        } catch {
            if error.code == .exists { return (false, nil) }
            guard isUnsupportedRename(error) else { throw FolderError(error) }
        }
        // Without RENAME_NOREPLACE a file that appears between these two calls is lost.
        guard try statusIfPresent(TaskPath(unchecked: target)) == nil else { return (false, nil) }
        return (true, try translating { () throws(SystemError) in try move(path, to: target, .replacing) })
    }

    /// EINVAL is what renameat2(2) says for a flag that the file system does not know.
    func isUnsupportedRename(_ error: SystemError) -> Bool {
        error.errno == 22 || (error.code == .unsupported && error.errno != 0)
    }

    /// Makes a move survive a power cut.
    func synchronizeMove(_ path: TaskPath, to target: TaskPath) throws(FolderError) {
        try synchronizeNames(in: target.parent)
        if path.parent != target.parent { try synchronizeNames(in: path.parent) }
    }

    /// Makes the names in a directory survive a power cut.
    ///
    /// The directory may have got another name meanwhile: what was moved there has gone with it, and
    /// all of the file system is written to the disk instead.
    func synchronizeNames(in directory: TaskPath) throws(FolderError) {
        do throws(SystemError) {
            try synchronizeDirectory(directory.string)
        } catch {
            guard error.code == .notFound else { throw FolderError(error) }
            try translating { () throws(SystemError) in
                try synchronizeFileSystems(of: [TaskPath.privateDirectory])
            }
        }
    }

    /// Moves a file that may hold the user's words out of the way.
    func putAside(_ path: TaskPath) {
        try? makeDirectories(TaskPath.recoveredDirectory)
        try? rename(path.string, to: TaskPath.recoveredDirectory + "/" + uniqueName(), .exclusive)
    }

    // MARK: Identifiers

    /// Returns the extended attribute `user.ferry.id`; nil if there is none.
    func mark(of path: TaskPath) throws(FolderError) -> FileMark? {
        let attributes = try translating { () throws(SystemError) in try self.attributes(path.string) }
        return attributes.first { $0.name == identifierAttribute }.flatMap { FileMark(parsing: $0.value) }
    }

    /// Whether files here can have an identifier, as far as that can be found out.
    var keepsIdentifiers: Bool {
        let attribute = FileAttribute(name: identifierAttribute, value: Array("root".utf8))
        return (try? setAttribute(RootMarker.path, attribute, of: nil)) ?? false
    }
}

/// The attribute that carries a task's document id.
let identifierAttribute = "user.ferry.id"

extension TaskPath {
    /// Keeps what was displaced by another program's write and may hold the user's words.
    static var recoveredDirectory: String { privateDirectory + "/recovered" }
}

import SystemIO

/// The files of `.ferry/incoming`, on the tree's own file system: downloads and copies in progress, until they are put
/// into their places.
struct IncomingFiles<Disk: FolderDisk> {
    let disk: Disk
    let trash: DiskTrash<Disk>

    private var placer: FilePlacer<Disk> { FilePlacer(disk: disk, trash: trash) }

    private func path(of name: String) throws(FolderError) -> String {
        if let problem = NameProblem(of: name) { throw FolderError(.invalidName, problem.description) }
        return Self.directory + "/" + name
    }

    private static var directory: String { TaskPath.privateDirectory + "/incoming" }

    /// Opens, or makes, an incoming file.
    func open(_ name: String) throws(FolderError) -> FileDescriptor {
        let path = try self.path(of: name)
        do throws(SystemError) {
            return try disk.open(path, [.readWrite, .create])
        } catch {
            guard error.code == .notFound else { throw FolderError(error) }
        }
        do throws(SystemError) {
            try disk.makeDirectories(Self.directory)
            return try disk.open(path, [.readWrite, .create])
        } catch {
            throw FolderError(error)
        }
    }

    /// Returns where this process can open an incoming file itself.
    func absolutePath(of name: String) throws(FolderError) -> String {
        let path = try self.path(of: name)
        return try translating { () throws(SystemError) in try disk.absolutePath(of: path) }
    }

    func names() throws(FolderError) -> [String] { try disk.names(in: Self.directory) }

    /// Puts incoming files into their places; see `TaskFolder.placeIncoming`.
    func place(_ files: [IncomingFile]) -> [Result<WriteOutcome, FolderError>] {
        let synced = synchronize(files)
        var parents: Set<TaskPath> = []
        let together = IncomingFiles(disk: disk.together(), trash: trash)
        var results = zip(files, synced).map { file, synced -> Result<WriteOutcome, FolderError> in
            do throws(FolderError) {
                try synced.get()
                let outcome = try together.place(file)
                if case .written = outcome { parents.insert(file.path.parent) }
                return .success(outcome)
            } catch {
                return .failure(error)
            }
        }
        for parent in parents {
            do throws(SystemError) {
                try disk.synchronizeDirectory(parent.string)
            } catch {
                for index in files.indices where files[index].path.parent == parent {
                    results[index] = .failure(FolderError(error))
                }
            }
        }
        return results
    }

    /// Makes the bytes of incoming files survive a power cut: a few one by one, many with all of their file system.
    private func synchronize(_ files: [IncomingFile]) -> [Result<Void, FolderError>] {
        let paths = files.map { file -> Result<String, FolderError> in
            do throws(FolderError) { return .success(try path(of: file.name)) } catch { return .failure(error) }
        }
        guard files.count > 4 else {
            return paths.map { path in
                do throws(FolderError) {
                    let path = try path.get()
                    try translating { () throws(SystemError) in try disk.open(path, .read).synchronize() }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        do throws(SystemError) {
            try disk.synchronizeFileSystems(of: [Self.directory])
            return paths.map { $0.map { _ in } }
        } catch {
            return paths.map { _ in .failure(FolderError(error)) }
        }
    }

    private func place(_ file: IncomingFile) throws(FolderError) -> WriteOutcome {
        let path = file.path
        try path.checkIsFile()
        let incoming = try self.path(of: file.name)
        // Nothing of that name is to be displaced, so one rename is enough, and it refuses where there is something.
        if file.expecting == .absent { return try placeNew(incoming, at: path) }
        let current = try disk.statusIfPresent(path)
        guard try file.expecting.allows(current, at: path) else { return .changed(current.map { FileStamp($0) }) }
        try disk.makeParents(of: path)
        // Under a temporary name in the target's own directory first; what is refused there goes back, not away.
        let name = Directory.temporaryPrefix + disk.uniqueName() + Directory.temporarySuffix
        let temporary = path.parent.appending(unchecked: name).string
        let stamp = try translating { () throws(SystemError) in
            if let current {
                try disk.setMode(incoming, file.isExecutable ? current.executableMode : current.mode)
            }
            try disk.rename(incoming, to: temporary, .exclusive)
            return FileStamp(try disk.status(temporary))
        }
        return try placer.place(
            temporary, stamp, at: path, expecting: file.expecting, trashesReplaced: file.trashesReplaced
        ) { [disk] temporary in
            try? disk.rename(temporary, to: incoming, .exclusive)
        }
    }

    private func placeNew(_ incoming: String, at path: TaskPath) throws(FolderError) -> WriteOutcome {
        let stamp = try translating { () throws(SystemError) in FileStamp(try disk.status(incoming)) }
        do throws(FolderError) {
            return try placer.place(incoming, stamp, at: path, expecting: .absent) { _ in }
        } catch {
            guard error.code == .notFound, try disk.statusIfPresent(path.parent) == nil else { throw error }
            try disk.makeParents(of: path)
            return try placer.place(incoming, stamp, at: path, expecting: .absent) { _ in }
        }
    }

    /// Removes an incoming file; does nothing if it is gone already.
    func remove(_ name: String) throws(FolderError) {
        let path = try self.path(of: name)
        do throws(SystemError) {
            try disk.remove(path)
        } catch {
            if error.code != .notFound { throw FolderError(error) }
        }
    }
}

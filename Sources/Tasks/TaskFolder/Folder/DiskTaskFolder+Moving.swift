package import SystemIO

extension DiskTaskFolder {
    package func move(
        _ path: TaskPath, to target: TaskPath, expecting expectation: FileExpectation
    ) throws(FolderError) -> MoveOutcome {
        guard var before = try status(path) else { return .changed(nil) }
        let isDirectory = before.kind == .directory
        guard isDirectory || before.kind == .file else {
            throw FolderError(.wrongKind, "\(path) is neither a file nor a directory")
        }
        guard target.kind(isDirectory: isDirectory) != .ignored, !target.isRoot, !path.isRoot else {
            throw FolderError(.invalidName, "\(path) would not be seen any more as \(target)")
        }
        if case .stamp(let stamp) = expectation, FileStamp(before) != stamp { return .changed(FileStamp(before)) }
        if path == target { return .moved(FileStamp(before)) }
        var renamed: (isDone: Bool, copied: CopiedMove?)
        do throws(FolderError) {
            renamed = try renameExclusively(path.string, to: target.string)
        } catch {
            guard isDirectory, error.code == .notFound else { throw error }
            try makeParents(of: target)
            renamed = try renameExclusively(path.string, to: target.string)
        }
        if let copied = renamed.copied, FileStamp(copied.original).isFile(of: FileStamp(before)) {
            before = copied.copy
        }
        if !renamed.isDone {
            // On a file system without case the new name may be the old one in other letters.
            guard let there = try status(target), there.inode == before.inode, there.device == before.device,
                there.links == 1 || isDirectory
            else { return .exists }
            try translating { () throws(SystemError) in try disk.rename(path.string, to: target.string, .replacing) }
        }
        // Another task's file was put in its place between the look and the rename: that one goes
        // back. One that does not say whose it is may as well be new here, where the one that was
        // moved has got yet another name.
        if !isDirectory, let there = try status(target), !FileStamp(there).isFile(of: FileStamp(before)),
            (try? identifier(target)) ?? nil != nil, try renameExclusively(target.string, to: path.string).isDone
        {
            return .changed(FileStamp(there))
        }
        try synchronizeMove(path, to: target)
        // As after a write: an edit at this moment must not be taken for our echo.
        guard let after = try status(target), FileStamp(after).hasContent(of: FileStamp(before)) || isDirectory else {
            return .moved(FileStamp(before))
        }
        return .moved(FileStamp(after))
    }

    package func exchange(_ path: TaskPath, _ other: TaskPath) throws(FolderError) {
        guard path.kind(isDirectory: true) == .attachments, other.kind(isDirectory: true) == .attachments else {
            throw FolderError(.wrongKind, "\(path) and \(other) are no directories of attachments")
        }
        do throws(SystemError) {
            try disk.rename(path.string, to: other.string, .exchanging)
        } catch {
            guard error.code == .unsupported else { throw FolderError(error) }
            let third = try path.parent.appending("\(path.stem) (\(disk.uniqueName()))\(TaskPath.attachmentsSuffix)")
            guard case .moved = try move(path, to: third, expecting: .anything),
                case .moved = try move(other, to: path, expecting: .anything),
                case .moved = try move(third, to: other, expecting: .anything)
            else { throw FolderError(.exists, "\(path) and \(other) have changed while their names were exchanged") }
            return
        }
        try synchronizeMove(path, to: other)
    }

    /// One of the two directories may have got another name meanwhile: the move is made
    /// nevertheless, and all of the file system is written to the disk instead.
    func synchronizeMove(_ path: TaskPath, to target: TaskPath) throws(FolderError) {
        do throws(SystemError) {
            try disk.synchronizeDirectory(target.parent.string)
            if path.parent != target.parent { try disk.synchronizeDirectory(path.parent.string) }
        } catch {
            guard error.code == .notFound else { throw FolderError(error) }
            try translating { () throws(SystemError) in
                try disk.synchronizeFileSystems(of: [TaskPath.privateDirectory])
            }
        }
    }

    package func openSnapshot(_ path: TaskPath) throws(FolderError) -> FileSnapshot {
        guard let status = try status(path), status.kind == .file else {
            throw FolderError(try status(path) == nil ? .notFound : .wrongKind, "\(path) is no regular file")
        }
        do throws(SystemError) {
            let descriptor = try disk.open(path.string, .read)
            let opened = try disk.status(of: descriptor, inode: status.inode)
            return FileSnapshot(descriptor: descriptor, stamp: FileStamp(opened), disk: disk)
        } catch {
            throw FolderError(error)
        }
    }

    private func incoming(_ name: String) throws(FolderError) -> String {
        if let problem = NameProblem(of: name) { throw FolderError(.invalidName, problem.description) }
        return Self.incomingDirectory + "/" + name
    }

    private static var incomingDirectory: String { TaskPath.privateDirectory + "/incoming" }

    package func openIncoming(_ name: String) throws(FolderError) -> FileDescriptor {
        let path = try incoming(name)
        do throws(SystemError) {
            return try disk.open(path, [.readWrite, .create])
        } catch {
            guard error.code == .notFound else { throw FolderError(error) }
        }
        do throws(SystemError) {
            try disk.makeDirectories(Self.incomingDirectory)
            return try disk.open(path, [.readWrite, .create])
        } catch {
            throw FolderError(error)
        }
    }

    package func absolutePath(of path: TaskPath) throws(FolderError) -> String {
        try translating { () throws(SystemError) in try disk.absolutePath(of: path.string) }
    }

    package func absolutePath(ofIncoming name: String) throws(FolderError) -> String {
        let path = try incoming(name)
        return try translating { () throws(SystemError) in try disk.absolutePath(of: path) }
    }

    package func incomingNames() throws(FolderError) -> [String] { try names(in: Self.incomingDirectory) }

    package func placeIncoming(_ files: [IncomingFile]) -> [Result<WriteOutcome, FolderError>] {
        let synced = synchronize(files)
        var parents: Set<TaskPath> = []
        let folder = together()
        var results = zip(files, synced).map { file, synced -> Result<WriteOutcome, FolderError> in
            do throws(FolderError) {
                try synced.get()
                let outcome = try folder.place(file)
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
            do throws(FolderError) { return .success(try incoming(file.name)) } catch { return .failure(error) }
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
            try disk.synchronizeFileSystems(of: [Self.incomingDirectory])
            return paths.map { $0.map { _ in } }
        } catch {
            return paths.map { _ in .failure(FolderError(error)) }
        }
    }

    private func place(_ file: IncomingFile) throws(FolderError) -> WriteOutcome {
        let path = file.path
        try checkIsFile(path)
        let incoming = try incoming(file.name)
        // Nothing of that name is to be displaced, so one rename is enough, and it refuses where there is something.
        if file.expecting == .absent { return try placeNew(incoming, at: path) }
        let current = try status(path)
        guard try isAsExpected(current, path, file.expecting) else { return .changed(current.map { FileStamp($0) }) }
        try makeParents(of: path)
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
        return try place(
            temporary, stamp, at: path, expecting: file.expecting, trashesReplaced: file.trashesReplaced
        ) { [disk] temporary in
            try? disk.rename(temporary, to: incoming, .exclusive)
        }
    }

    private func placeNew(_ incoming: String, at path: TaskPath) throws(FolderError) -> WriteOutcome {
        let stamp = try translating { () throws(SystemError) in FileStamp(try disk.status(incoming)) }
        do throws(FolderError) {
            return try place(incoming, stamp, at: path, expecting: .absent) { _ in }
        } catch {
            guard error.code == .notFound, try status(path.parent) == nil else { throw error }
            try makeParents(of: path)
            return try place(incoming, stamp, at: path, expecting: .absent) { _ in }
        }
    }

    package func removeIncoming(_ name: String) throws(FolderError) {
        let path = try incoming(name)
        do throws(SystemError) {
            try disk.remove(path)
        } catch {
            if error.code != .notFound { throw FolderError(error) }
        }
    }
}

package import SystemIO

extension DiskTaskFolder {
    /// The result of a move before it is durable.
    private enum Rename {
        /// Nothing was renamed.
        case ended(MoveOutcome)
        /// Renamed. The stamp is that of the file before.
        case done(FileStamp, isDirectory: Bool)
    }

    package func move(_ moves: [FolderMove]) -> [Result<MoveOutcome, FolderError>] {
        let renames = moves.map { move in
            Result { () throws(FolderError) in try rename(move.path, to: move.target, expecting: move.expecting) }
        }
        let done = zip(moves, renames).compactMap { move, result in
            if case .success(.done) = result { move } else { nil }
        }
        let failures = synchronizeDirectories(done.map(\.target.parent) + done.map(\.path.parent))
        return zip(moves, renames).map { move, rename in
            Result { () throws(FolderError) in
                switch try rename.get() {
                case .ended(let outcome): return outcome
                case .done(let before, let isDirectory):
                    if let error = failures[move.target.parent] ?? failures[move.path.parent] { throw error }
                    // As after a write: an edit at this moment must not be taken for our echo.
                    guard let after = try disk.statusIfPresent(move.target).map({ FileStamp($0) }),
                        isDirectory || after.hasContent(of: before)
                    else { return .moved(before) }
                    return .moved(after)
                }
            }
        }
    }

    private func rename(
        _ path: TaskPath, to target: TaskPath, expecting expectation: FileExpectation
    ) throws(FolderError) -> Rename {
        for place in [path, target] { try checkUncovered(place) }
        guard var before = try disk.statusIfPresent(path) else { return .ended(.changed(nil)) }
        let isDirectory = before.kind == .directory
        guard isDirectory || before.kind == .file else {
            throw FolderError(.wrongKind, "\(path) is neither a file nor a directory")
        }
        guard target.kind(isDirectory: isDirectory) != .ignored, !target.isRoot, !path.isRoot else {
            throw FolderError(.invalidName, "\(path) would not be seen any more as \(target)")
        }
        if case .stamp(let stamp) = expectation, FileStamp(before) != stamp {
            return .ended(.changed(FileStamp(before)))
        }
        if path == target { return .ended(.moved(FileStamp(before))) }
        var renamed: (isDone: Bool, copied: CopiedMove?)
        do throws(FolderError) {
            renamed = try disk.renameExclusively(path.string, to: target.string)
        } catch {
            guard isDirectory, error.code == .notFound else { throw error }
            try disk.makeParents(of: target)
            renamed = try disk.renameExclusively(path.string, to: target.string)
        }
        if let copied = renamed.copied, FileStamp(copied.original).isFile(of: FileStamp(before)) {
            before = copied.copy
        }
        if !renamed.isDone {
            // On a file system without case the new name may be the old one in other letters.
            guard let there = try disk.statusIfPresent(target), there.inode == before.inode,
                there.device == before.device,
                there.links == 1 || isDirectory
            else { return .ended(.exists) }
            try translating { () throws(SystemError) in try disk.rename(path.string, to: target.string, .replacing) }
        }
        // Another task's file was put in its place between the look and the rename: that one goes
        // back. One without an identifier may as well be new here, where the one that was
        // moved has got yet another name.
        if !isDirectory, let there = try disk.statusIfPresent(target), !FileStamp(there).isFile(of: FileStamp(before)),
            (try? disk.mark(of: target)) ?? nil != nil,
            try disk.renameExclusively(target.string, to: path.string).isDone
        {
            return .ended(.changed(FileStamp(there)))
        }
        return .done(FileStamp(before), isDirectory: isDirectory)
    }

    /// Makes the names in directories survive a power cut.
    ///
    /// - Returns: The errors of those that could not be synchronized.
    private func synchronizeDirectories(_ directories: [TaskPath]) -> [TaskPath: FolderError] {
        var seen: Set<TaskPath> = []
        var failures: [TaskPath: FolderError] = [:]
        for directory in directories where seen.insert(directory).inserted {
            do throws(FolderError) {
                try disk.synchronizeNames(in: directory)
            } catch {
                failures[directory] = error
            }
        }
        return failures
    }

    package func exchange(_ path: TaskPath, _ other: TaskPath) throws(FolderError) {
        guard path.kind(isDirectory: true) == .attachments, other.kind(isDirectory: true) == .attachments else {
            throw FolderError(.wrongKind, "\(path) and \(other) are not directories of attachments")
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
        try disk.synchronizeMove(path, to: other)
    }

    package func openSnapshot(_ path: TaskPath) throws(FolderError) -> FileSnapshot {
        try checkUncovered(path)
        guard let status = try disk.statusIfPresent(path), status.kind == .file else {
            throw FolderError(
                try disk.statusIfPresent(path) == nil ? .notFound : .wrongKind, "\(path) is not a regular file")
        }
        do throws(SystemError) {
            let descriptor = try disk.open(path.string, .read)
            let opened = try disk.status(of: descriptor, inode: status.inode)
            return FileSnapshot(descriptor: descriptor, stamp: FileStamp(opened), disk: disk)
        } catch {
            throw FolderError(error)
        }
    }

    package func absolutePath(of path: TaskPath) throws(FolderError) -> String {
        try translating { () throws(SystemError) in try disk.absolutePath(of: path.string) }
    }

    // MARK: Incoming files

    package func openIncoming(_ name: String) throws(FolderError) -> FileDescriptor { try incoming.open(name) }

    package func absolutePath(ofIncoming name: String) throws(FolderError) -> String {
        try incoming.absolutePath(of: name)
    }

    package func incomingNames() throws(FolderError) -> [String] { try incoming.names() }

    package func placeIncoming(_ files: [IncomingFile]) -> [Result<WriteOutcome, FolderError>] {
        uncovered(files, at: \.path) { incoming.place($0) }
    }

    package func removeIncoming(_ name: String) throws(FolderError) { try incoming.remove(name) }
}

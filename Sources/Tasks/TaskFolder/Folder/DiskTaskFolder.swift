import Synchronization
package import SystemIO

/// A task folder on a real disk or one in memory: everything except the system calls.
package final class DiskTaskFolder<Disk: FolderDisk>: TaskFolder {
    package let disk: Disk
    let watching = Mutex(WatchState())
    let trash: DiskTrash<Disk>
    /// The covered lists that the last scan found.
    let covered = Mutex<Set<TaskPath>>([])

    package init(disk: Disk) {
        self.disk = disk
        trash = DiskTrash(disk: disk, numbers: TrashNumbers())
    }

    private var placer: FilePlacer<Disk> { FilePlacer(disk: disk, trash: trash) }
    var incoming: IncomingFiles<Disk> { IncomingFiles(disk: disk, trash: trash) }

    package func release() { disk.release() }

    package var isOpen: Bool { disk.isOpen }

    package func rootState() throws(FolderError) -> RootState {
        let identity: RootIdentity
        do throws(SystemError) {
            identity = try disk.openRoot()
        } catch {
            guard error.code == .notFound || error.code == .notDirectory else { throw FolderError(error) }
            throw FolderError(
                .rootMissing,
                "the tasks directory \(error.path ?? "") does not exist. Mount or restore it; syncing then continues automatically. "
                    + "Nothing is deleted elsewhere meanwhile", cause: error)
        }
        return RootState(identity: identity, marker: marker())
    }

    private func marker() -> RootState.Marker {
        do throws(SystemError) {
            let reading = try disk.read(RootMarker.path, limit: RootMarker.limit)
            return RootMarker(parsing: reading.bytes).map { .valid($0) } ?? .unreadable
        } catch {
            return error.code == .notFound ? .none : .unreadable
        }
    }

    package func claim(_ marker: RootMarker) throws(FolderError) {
        guard let bytes = marker.bytes else {
            throw FolderError(.invalidName, "the marker of a tasks directory needs values of one line each")
        }
        try translating { () throws(SystemError) in
            try disk.makeDirectories(TaskPath.privateDirectory)
            let temporary = try disk.writeTemporary(
                in: TaskPath.privateDirectory, bytes, mode: 0o600, attributes: [], synchronize: true)
            do throws(SystemError) {
                try disk.rename(temporary, to: RootMarker.path, .replacing)
            } catch {
                try? disk.remove(temporary)
                throw error
            }
            try disk.synchronizeDirectory(TaskPath.privateDirectory)
            try disk.synchronizeDirectory("")
        }
    }

    package func stamps(_ paths: [TaskPath]) -> [Result<FileStamp?, FolderError>] {
        let together = disk.together()
        return paths.map { path in Result { () throws(FolderError) in try stamp(path, on: together) } }
    }

    package func stamp(_ path: TaskPath) throws(FolderError) -> FileStamp? { try stamp(path, on: disk) }

    private func stamp(_ path: TaskPath, on disk: Disk) throws(FolderError) -> FileStamp? {
        if !coveredLists.contains(path) { try checkUncovered(path) }
        guard let status = try disk.statusIfPresent(path) else { return nil }
        guard status.kind == .file else {
            throw FolderError(
                .wrongKind, "\(path) is not a regular file and is ignored; replace it with a file, or rename it")
        }
        return FileStamp(status)
    }

    package func read(_ path: TaskPath) throws(FolderError) -> TaskFileContent {
        try checkUncovered(path)
        for _ in 0..<4 {
            let reading: DiskReading
            do throws(SystemError) {
                reading = try disk.read(path.string, limit: TaskFileContent.limit)
            } catch {
                guard error.code == .tooLarge else { throw FolderError(error) }
                throw FolderError(.tooLarge, DiskTaskFolder.tooLarge(path), cause: error)
            }
            let stamp = FileStamp(reading.after)
            if FileStamp(reading.before) == stamp, Int64(reading.bytes.count) == stamp.size {
                return TaskFileContent(bytes: reading.bytes, stamp: stamp)
            }
        }
        throw FolderError(.unstable, "\(path) changes while it is read; it is read again when its writer pauses")
    }

    static func tooLarge(_ path: TaskPath) -> String {
        "\(path) is longer than the \(TaskFileContent.limit >> 20) MiB that a task may have; move large content to an attachment"
    }

    package func write(_ writes: [FolderWrite]) -> [Result<WriteOutcome, FolderError>] {
        uncovered(writes, at: \.path) { FileWriter(disk: disk, placer: placer).write($0) }
    }

    package func synchronize(_ paths: [TaskPath]) -> Set<TaskPath> {
        guard paths.count <= 4 else {
            // By their directories, since a file may be gone; by the root first, since those may be as well.
            let directories = Set(paths.map(\.parent)).filter { (try? disk.status($0.string)) != nil }
            try? disk.synchronizeFileSystems(of: [TaskPath.root.string] + directories.map(\.string))
            return []
        }
        var gone: Set<TaskPath> = []
        for path in paths {
            do throws(SystemError) {
                try disk.synchronizeFile(path.string)
            } catch {
                if error.code == .notFound { gone.insert(path) }
            }
        }
        // A directory that is new itself has to stay as well.
        func above(_ paths: some Sequence<TaskPath>) -> Set<TaskPath> {
            var directories: Set<TaskPath> = []
            for path in paths {
                var parent = path.parent
                while directories.insert(parent).inserted, !parent.isRoot { parent = parent.parent }
            }
            return directories
        }
        let needed = above(paths.lazy.filter { !gone.contains($0) })
        var isComplete = true
        for directory in needed.union(above(gone)) {
            do throws(SystemError) {
                try disk.synchronizeDirectory(directory.string)
            } catch {
                if error.code == .notFound, needed.contains(directory) { isComplete = false }
            }
        }
        // A directory that was renamed at this moment still has the files, wherever it is.
        if !isComplete { try? disk.synchronizeFileSystems(of: [TaskPath.root.string]) }
        return gone
    }

    package func makeDirectory(_ path: TaskPath) throws(FolderError) {
        try checkUncovered(path)
        try disk.makeDirectory(path)
    }

    package func directoryChanged(_ path: TaskPath) -> FileTime? { (try? disk.status(path.string))?.changed }

    package func removeDirectoryIfEmpty(_ path: TaskPath) throws(FolderError) -> Bool {
        guard !path.isRoot else { return false }
        try checkUncovered(path)
        if try removeDirectory(path) { return true }
        var names: [String] = []
        try translating { () throws(SystemError) in
            _ = try disk.visit(path.string, watching: false, wantsStatus: { _ in false }) { entry, _ in
                names.append(entry.name)
            }
        }
        // Temporary files remain if a directory is renamed during a write.
        guard names.allSatisfy(Directory.isTemporary) else { return false }
        for name in names { disk.putAside(path.appending(unchecked: name)) }
        return try removeDirectory(path)
    }

    /// Removes a directory. Returns false if it is not empty.
    private func removeDirectory(_ path: TaskPath) throws(FolderError) -> Bool {
        do throws(SystemError) {
            try disk.removeDirectory(path.string)
            try disk.synchronizeDirectory(path.parent.string)
            return true
        } catch {
            switch error.code {
            case .notEmpty, .exists: return false
            case .notFound: return true
            default: throw FolderError(error)
            }
        }
    }

    package func mark(_ path: TaskPath) throws(FolderError) -> FileMark? { try disk.mark(of: path) }

    package func setMark(
        _ path: TaskPath, to mark: FileMark, of before: FileStamp
    ) throws(FolderError) -> FileStamp? {
        let isSet = try translating { () throws(SystemError) in
            // Another task's file may have been put in the place meanwhile.
            try disk.setAttribute(
                path.string, FileAttribute(name: identifierAttribute, value: mark.bytes), of: before.inode)
        }
        guard isSet, let after = try stamp(path) else { return nil }
        // An edit since then must not be taken for the echo of this call.
        return after.hasContent(of: before) ? after : before
    }

    package var keepsIdentifiers: Bool { disk.keepsIdentifiers }
}

/// The tree at a path of the real file system.
package typealias DirectoryTaskFolder = DiskTaskFolder<KernelDisk>

extension DiskTaskFolder where Disk == KernelDisk {
    /// Creates a folder.
    ///
    /// - Parameter path: The path of the tasks directory, which need not exist yet.
    package convenience init(path: String) {
        self.init(disk: KernelDisk(path: path))
    }
}

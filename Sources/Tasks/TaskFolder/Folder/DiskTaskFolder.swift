import Synchronization
package import SystemIO

/// A task folder on a disk, real or in memory: everything but the system calls themselves.
package final class DiskTaskFolder<Disk: FolderDisk>: TaskFolder {
    package let disk: Disk
    let watching = Mutex(WatchState())
    /// How many entries this folder has put into the trash.
    let trashed = Atomic<UInt32>(0)

    package init(disk: Disk) { self.disk = disk }

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
                "the tasks directory \(error.path ?? "") is not there. Mount or restore it; syncing goes on by itself. "
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
        let folder = together()
        return paths.map { path in Result { () throws(FolderError) in try folder.stamp(path) } }
    }

    /// This folder for calls that follow upon each other at once.
    func together() -> DiskTaskFolder { DiskTaskFolder(disk: disk.together()) }

    package func stamp(_ path: TaskPath) throws(FolderError) -> FileStamp? {
        guard let status = try status(path) else { return nil }
        guard status.kind == .file else {
            throw FolderError(
                .wrongKind, "\(path) is no regular file and is left alone; put the text itself there, or another name")
        }
        return FileStamp(status)
    }

    /// Nil where there is none.
    func status(_ path: TaskPath) throws(FolderError) -> FileStatus? {
        do throws(SystemError) {
            return try disk.status(path.string)
        } catch {
            if error.code == .notFound { return nil }
            throw FolderError(error)
        }
    }

    package func read(_ path: TaskPath) throws(FolderError) -> TaskFileContent {
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

    package func makeDirectory(_ path: TaskPath) throws(FolderError) {
        switch path.kind(isDirectory: true) {
        case .list, .attachments: break
        default: throw FolderError(.invalidName, "\(path) would be no list and no attachments directory")
        }
        try translating { () throws(SystemError) in
            try disk.makeDirectories(path.string)
            try disk.synchronizeDirectory(path.parent.string)
        }
    }

    package func directoryChanged(_ path: TaskPath) -> FileTime? { (try? disk.status(path.string))?.changed }

    package func removeDirectoryIfEmpty(_ path: TaskPath) throws(FolderError) -> Bool {
        guard !path.isRoot else { return false }
        if try removeDirectory(path) { return true }
        var names: [String] = []
        try translating { () throws(SystemError) in
            _ = try disk.visit(path.string, watching: false, wantsStatus: { _ in false }) { entry, _ in
                names.append(entry.name)
            }
        }
        // Left by a write beneath a directory that got another name meanwhile.
        guard names.allSatisfy(Directory.isTemporary) else { return false }
        for name in names { putAside(path.appending(unchecked: name)) }
        return try removeDirectory(path)
    }

    /// False where something is in it.
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

    package func identifier(_ path: TaskPath) throws(FolderError) -> String? {
        let attributes = try translating { () throws(SystemError) in try disk.attributes(path.string) }
        guard let value = attributes.first(where: { $0.name == identifierAttribute })?.value, value.count <= 256 else {
            return nil
        }
        return String(validating: value, as: UTF8.self)
    }

    package func setIdentifier(
        _ path: TaskPath, to identifier: String, of before: FileStamp
    ) throws(FolderError) -> FileStamp? {
        let isSet = try translating { () throws(SystemError) in
            // Another task's file may have been put in the place since.
            try disk.setAttribute(
                path.string, FileAttribute(name: identifierAttribute, value: Array(identifier.utf8)), of: before.inode)
        }
        guard isSet, let after = try stamp(path) else { return nil }
        // An edit since then must not be taken for the echo of this call.
        return after.hasContent(of: before) ? after : before
    }

    package var keepsIdentifiers: Bool {
        let attribute = FileAttribute(name: identifierAttribute, value: Array("root".utf8))
        return (try? disk.setAttribute(RootMarker.path, attribute, of: nil)) ?? false
    }
}

/// The attribute that carries a task's document id.
let identifierAttribute = "user.ferry.id"

/// The tree at a path of the real file system.
package typealias DirectoryTaskFolder = DiskTaskFolder<KernelDisk>

extension DiskTaskFolder where Disk == KernelDisk {
    /// - Parameter path: of the tasks directory, which need not exist yet.
    package convenience init(path: String) {
        self.init(disk: KernelDisk(path: path))
    }
}

import Synchronization
package import SystemIO

/// The real file system below a directory.
package final class KernelDisk: FolderDisk {
    private let path: String
    private let lock: (any RootLocking)?
    private let root: Mutex<Directory?>
    /// The identity of the root, which is known even while the root is closed.
    private let identity: Mutex<RootIdentity?>
    private let inotify = Mutex<Inotify?>(nil)
    /// The directories that a series of calls has opened, by their paths; nil if calls do not
    /// belong to a series.
    private let opened: Mutex<[ExactText: Directory]?>
    /// The maximum number of opened directories, each of which takes a descriptor.
    private static let openedLimit = 16

    /// - Parameters:
    ///   - path: The path of the root, which need not exist yet.
    ///   - lock: Held while the root is open.
    package init(path: String, lock: (any RootLocking)? = nil) {
        self.path = path
        self.lock = lock
        root = Mutex(nil)
        identity = Mutex(nil)
        opened = Mutex(nil)
    }

    private init(together disk: KernelDisk) {
        path = disk.path
        lock = disk.lock
        root = Mutex(disk.root.withLock { $0 })
        identity = Mutex(disk.identity.withLock { $0 })
        opened = Mutex([:])
    }

    package func together() -> KernelDisk { KernelDisk(together: self) }

    package func absolutePath(of path: String) -> String { "\(self.path)/\(path)" }

    package func openRoot() throws(SystemError) -> RootIdentity {
        let (found, identity) = try findRoot()
        root.withLock { $0 = found }
        self.identity.withLock { $0 = identity }
        return identity
    }

    private func findRoot() throws(SystemError) -> (Directory, RootIdentity) {
        try lock?.take()
        let found = try Directory(path: path)
        let status = try found.descriptor.status()
        return (
            found,
            RootIdentity(device: status.device, inode: status.inode, fileSystem: try found.fileSystemID())
        )
    }

    package func release() {
        root.withLock { $0 = nil }
        lock?.release()
    }

    package var isOpen: Bool { root.withLock { $0 != nil } }

    private func directory() throws(SystemError) -> Directory {
        if let directory = root.withLock({ $0 }) { return directory }
        let (found, identity) = try findRoot()
        // The root was closed in between, and its path may name another directory now, in which
        // absent files were not deleted.
        let known = self.identity.withLock { known in
            if known == nil { known = identity }
            return known
        }
        guard known == identity else {
            throw SystemError(
                .unreachable, operation: "open", path: path, remedy: "Another directory is there than before")
        }
        root.withLock { $0 = found }
        return found
    }

    private func directory(_ path: String) throws(SystemError) -> Directory {
        path.isEmpty ? try directory() : try directory().directory(path)
    }

    /// Returns an opened directory on the way to a path, and the rest of the path.
    private func way(to path: String) throws(SystemError) -> (directory: Directory, rest: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
            let opened = opened.withLock({ $0 })
        else { return (try directory(), path) }
        let parent = ExactText(String(path[..<slash]))
        let name = String(path[path.utf8.index(after: slash)...])
        if let directory = opened[parent] { return (directory, name) }
        let directory = try directory(parent.string)
        self.opened.withLock { opened in
            if opened?.count == Self.openedLimit { opened = [:] }
            opened?[parent] = directory
        }
        return (directory, name)
    }

    package func visit(
        _ path: String, watching: Bool, wantsStatus: (DirectoryEntry) -> Bool,
        _ body: (DirectoryEntry, FileStatus?) -> Void
    ) throws(SystemError) -> Result<Int32?, SystemError> {
        let directory = try directory(path)
        let watch: Result<Int32?, SystemError> = watching ? self.watch(directory) : .success(nil)
        var failure: SystemError?
        try directory.forEachEntry { entry in
            guard failure == nil else { return }
            guard entry.invalidBytes == nil, wantsStatus(entry) else { return body(entry, nil) }
            do throws(SystemError) {
                if let status = try directory.statusIfPresent(listed: entry.name) { body(entry, status) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return watch
    }

    private func watch(_ directory: Directory) -> Result<Int32?, SystemError> {
        Result { () throws(SystemError) in
            try inotify.withLock { inotify throws(SystemError) in
                try inotify?.watch(directory, for: KernelDisk.watchedChanges)
            }
        }
    }

    private static let watchedChanges: InotifyEvent.Mask = [
        .created, .deleted, .movedFrom, .movedTo, .written, .closedAfterWriting, .attributes, .deletedItself,
        .movedItself,
    ]

    package func status(_ path: String) throws(SystemError) -> FileStatus {
        guard !path.isEmpty else { return try directory().descriptor.status() }
        let (directory, rest) = try way(to: path)
        return try directory.status(rest)
    }

    package func read(_ path: String, limit: Int) throws(SystemError) -> DiskReading {
        let file = try directory().open(path, [.read, .nonBlocking])
        let before = try file.status()
        guard before.kind == .file else {
            throw SystemError(.unsupported, operation: "read", path: path, remedy: "It is not a regular file")
        }
        let bytes = try file.readAll(limit: limit)
        return DiskReading(bytes: bytes, before: before, after: try file.status())
    }

    package func open(_ path: String, _ options: OpenOptions) throws(SystemError) -> FileDescriptor {
        try directory().open(path, options.union(.nonBlocking), mode: 0o666)
    }

    package func status(of descriptor: borrowing FileDescriptor, inode: UInt64) throws(SystemError) -> FileStatus {
        try descriptor.status()
    }

    package func writeTemporary(
        in directory: String, _ bytes: [UInt8], mode: UInt32?, attributes: [FileAttribute], synchronize: Bool
    ) throws(SystemError) -> String {
        try self.directory().writeTemporary(
            beside: directory.isEmpty ? "x" : directory + "/x", bytes, mode: 0o666, synchronize: synchronize
        ) { file throws(SystemError) in
            for attribute in attributes { _ = try file.setAttribute(attribute.name, to: attribute.value) }
            // The mode comes last, because an ordinary user may not set attributes of a file
            // without write permission.
            if let mode { try file.changeMode(mode) }
        }
    }

    package func synchronizeFile(_ path: String) throws(SystemError) {
        try directory().open(path, [.read, .nonBlocking]).synchronize()
    }

    package func synchronizeFileSystems(of paths: [String]) throws(SystemError) {
        var done: Set<UInt64> = []
        for path in paths where done.insert(try status(path).device).inserted {
            try directory().open(path, [.read, .nonBlocking]).synchronizeFileSystem()
        }
    }

    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        try directory(path).synchronize()
    }

    package func move(
        _ path: String, to target: String, _ mode: Directory.RenameMode
    ) throws(SystemError) -> CopiedMove? {
        do throws(SystemError) {
            let (from, old) = try way(to: path)
            let (to, new) = try way(to: target)
            do throws(SystemError) {
                try from.rename(old, to: new, in: to, mode)
                return nil
            } catch {
                guard error.isOtherFileSystem, mode != .exchanging else { throw error }
                return try from.moveAcross(old, to: new, in: to, isReplacing: mode == .replacing)
            }
        } catch {
            // A directory may have been removed and replaced by another one.
            if error.code == .notFound { opened.withLock { if $0 != nil { $0 = [:] } } }
            throw error
        }
    }

    package func remove(_ path: String) throws(SystemError) {
        try directory().remove(path)
    }

    package func removeTree(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try directory(path).removeContents()
            try removeDirectory(path)
        } catch {
            if error.code != .notFound { throw error }
        }
    }

    package func setMode(_ path: String, _ mode: UInt32) throws(SystemError) {
        try open(path, .read).changeMode(mode)
    }

    package func makeDirectories(_ path: String) throws(SystemError) {
        // Private files are for this user only.
        let mode: UInt32 = path.hasPrefix(TaskPath.privateDirectory) ? 0o700 : 0o777
        if !path.isEmpty { try directory().makeDirectories(path, mode: mode) }
    }

    package func removeDirectory(_ path: String) throws(SystemError) {
        try directory().removeDirectory(path)
    }

    package func attributes(_ path: String) throws(SystemError) -> [FileAttribute] {
        let file = try open(path, .read)
        var attributes: [FileAttribute] = []
        for name in try file.attributeNames() where name.hasPrefix("user.") {
            if let value = try file.attribute(name) { attributes.append(FileAttribute(name: name, value: value)) }
        }
        return attributes
    }

    package func setAttribute(
        _ path: String, _ attribute: FileAttribute, of inode: UInt64?
    ) throws(SystemError) -> Bool {
        let file = try open(path, .read)
        if let inode, try file.status().inode != inode { return false }
        return try file.setAttribute(attribute.name, to: attribute.value)
    }

    package func isMountPoint(_ directory: String) throws(SystemError) -> Bool {
        let parent = directory.split(separator: "/").dropLast().joined(separator: "/")
        let (here, above) = (try self.directory(directory), try self.directory(parent))
        if let mine = mount(of: here.descriptor), let other = mount(of: above.descriptor) { return mine != other }
        return try isOnOtherFileSystem(directory)
    }

    /// Returns the line of proc_pid_fdinfo(5) with the id of the mount on which a file is. Directories that are mounted
    /// with `--bind` have the device number of their file system.
    private func mount(of descriptor: borrowing FileDescriptor) -> Substring? {
        let info = try? FileDescriptor(path: "/proc/self/fdinfo/\(descriptor.rawValue)", .read).readAll(limit: 4096)
        return String(decoding: info ?? [], as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("mnt_id:") }
    }

    package func uniqueName() -> String { SystemRandom.hex(8) }

    package func startWatching() throws(SystemError) {
        let new = try Inotify()
        inotify.withLock { $0 = new }
    }

    package func unwatch(_ watch: Int32) {
        inotify.withLock { $0?.remove(watch) }
    }

    package func takeEvents() throws(SystemError) -> [InotifyEvent] {
        try inotify.withLock { inotify throws(SystemError) in try inotify?.read() ?? [] }
    }

    package func waitForEvents() async throws {
        if let inotify = inotify.withLock({ $0 }) { return try await inotify.wait() }
        // Without a queue there are no events.
        while true { try await Task.sleep(for: .seconds(86_400)) }
    }
}

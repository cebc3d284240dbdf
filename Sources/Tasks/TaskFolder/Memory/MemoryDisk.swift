import Synchronization
package import SystemIO

/// A file system in memory with the rules, errors and events of the kernel's. It is deterministic:
/// the same calls give the same names, inodes and times.
package final class MemoryDisk: FolderDisk {
    let tree = Mutex(MemoryTree())
    let bell = AsyncSignal()
    /// The scripted faults. The function is called before each call with its name and path; an
    /// error number of errno(3) makes the call fail.
    private let fault = Mutex(Fault { _, _ in nil })

    /// A boxed closure, because a bare closure gets one more thunk each time it passes through the
    /// mutex.
    private struct Fault: Sendable {
        let errno: @Sendable (_ operation: String, _ path: String) -> Int32?
    }

    /// A directory for files that others open by path; nil if no file can be opened that way.
    let scratch: String?

    package init(scratch: String? = nil) { self.scratch = scratch }

    /// Replaces the scripted faults; nil removes them.
    package func setFault(_ fault: (@Sendable (_ operation: String, _ path: String) -> Int32?)?) {
        self.fault.withLock { $0 = Fault(errno: fault ?? { _, _ in nil }) }
    }

    /// Runs a call on the tree, and signals if it caused events.
    func change<Result>(
        _ operation: String, _ path: String, _ body: (inout MemoryTree) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        if let errno = fault.withLock({ $0 }).errno(operation, path) {
            throw SystemError(errno: errno, operation: operation, path: path)
        }
        defer { if tree.withLock({ !$0.queue.isEmpty }) { bell.set() } }
        var failure: SystemError?
        let result = tree.withLock { tree -> Result? in
            do throws(SystemError) {
                return try body(&tree)
            } catch {
                failure = error
                return nil
            }
        }
        if let result { return result }
        throw failure ?? SystemError(.other, operation: operation, path: path)
    }

    package func release() {}

    package var isOpen: Bool { false }

    package func openRoot() throws(SystemError) -> RootIdentity {
        try change("open", "") { tree throws(SystemError) in
            RootIdentity(device: MemoryTree.device, inode: try tree.find("", "open"), fileSystem: 1)
        }
    }

    package func visit(
        _ directory: String, watching: Bool, wantsStatus: (DirectoryEntry) -> Bool,
        _ body: (DirectoryEntry, FileStatus?) -> Void
    ) throws(SystemError) -> Result<Int32?, SystemError> {
        typealias Entry = (entry: DirectoryEntry, status: FileStatus?)
        let (watch, entries) = try change("list", directory) {
            tree throws(SystemError) -> (Result<Int32?, SystemError>, [Entry]) in
            let inode = try tree.find(directory, "list")
            guard let node = tree.nodes[inode], let children = node.children else {
                throw tree.error(Errno.notDirectory, "list", directory)
            }
            guard node.mode & 0o500 == 0o500 else { throw tree.error(Errno.access, "list", directory) }
            let watch = watching ? tree.watch(inode, directory) : .success(nil)
            let entries = children.sorted { $0.value < $1.value }.map { name, inode -> Entry in
                let status = tree.status(of: tree.mounts[inode] ?? inode)
                return (DirectoryEntry(name: name.string, kind: status?.kind ?? .unknown, inode: inode), status)
            }
            return (watch, entries)
        }
        for (entry, status) in entries { body(entry, wantsStatus(entry) ? status : nil) }
        return watch
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus {
        try change("examine", path) { tree throws(SystemError) in
            guard let status = tree.status(of: try tree.find(path, "examine")) else {
                throw tree.error(Errno.noEntry, "examine", path)
            }
            return status
        }
    }

    package func read(_ path: String, limit: Int) throws(SystemError) -> DiskReading {
        let (inode, bytes, before) = try change("read", path) {
            tree throws(SystemError) -> (UInt64, [UInt8], FileStatus) in
            let inode = try tree.find(path, "read")
            guard let node = tree.nodes[inode], let status = tree.status(of: inode) else {
                throw tree.error(Errno.noEntry, "read", path)
            }
            if node.kind == .link { throw tree.error(Errno.loop, "read", path) }
            guard node.kind == .file else { throw SystemError(.unsupported, operation: "read", path: path) }
            guard node.mode & 0o400 != 0 else { throw tree.error(Errno.access, "read", path) }
            guard node.size <= limit else { throw SystemError(.tooLarge, operation: "read", path: path) }
            return (inode, try MemoryDisk.bytes(node), status)
        }
        // Others may write between the two status calls, as on a real disk. A file that has lost
        // its name stays unchanged.
        let after = try change("examine after reading", path) { tree throws(SystemError) in
            tree.status(of: inode) ?? before
        }
        return DiskReading(bytes: bytes, before: before, after: after)
    }

    static func bytes(_ node: MemoryNode) throws(SystemError) -> [UInt8] {
        switch node.content {
        case .bytes(let bytes): bytes
        case .open(let file): try file.bytes()
        default: []
        }
    }

    package func open(_ path: String, _ options: OpenOptions) throws(SystemError) -> FileDescriptor {
        let file = try change("open", path) { tree throws(SystemError) -> MemoryFile in
            let inode: UInt64
            do throws(SystemError) {
                inode = try tree.find(path, "open")
            } catch {
                guard error.code == .notFound, options.contains(.create) else { throw error }
                let file = try MemoryFile([], in: scratch)
                _ = try tree.create(path, .open(file), mode: 0o644, "open")
                return file
            }
            guard let node = tree.nodes[inode], node.kind == .file else {
                throw tree.error(tree.nodes[inode]?.kind == .link ? Errno.loop : Errno.isDirectory, "open", path)
            }
            guard node.mode & 0o400 != 0 else { throw tree.error(Errno.access, "open", path) }
            tree.opened.insert(inode)
            if case .open(let file) = node.content { return file }
            let file = try MemoryFile(try MemoryDisk.bytes(node), in: options.contains(.readWrite) ? scratch : nil)
            if options.contains(.readWrite) { tree.nodes[inode]?.content = .open(file) }
            return file
        }
        return try file.open(options.subtracting([.create, .exclusive]))
    }

    /// Returns a path of the file. For a file that was opened for writing, it is the file's own;
    /// for any other file, it is a copy of its current content.
    package func absolutePath(of path: String) throws(SystemError) -> String {
        let (inode, node) = try change("open", path) { tree throws(SystemError) -> (UInt64, MemoryNode) in
            let inode = try tree.find(path, "open")
            guard let node = tree.nodes[inode], node.kind == .file else {
                throw tree.error(Errno.isDirectory, "open", path)
            }
            return (inode, node)
        }
        guard let scratch else { throw SystemError(.unsupported, operation: "open", path: path) }
        if case .open(let file) = node.content, let place = file.path { return place }
        let copy = "\(scratch)/\(inode)"
        let descriptor = try FileDescriptor(path: copy, [.write, .create, .truncate])
        try descriptor.write(try MemoryDisk.bytes(node))
        return copy
    }

    package func status(of descriptor: borrowing FileDescriptor, inode: UInt64) throws(SystemError) -> FileStatus {
        try change("examine", "inode \(inode)") { tree throws(SystemError) in
            guard let status = tree.status(of: inode) else { throw tree.error(Errno.noEntry, "examine", "") }
            return status
        }
    }

    package func writeTemporary(
        in directory: String, _ bytes: [UInt8], mode: UInt32?, attributes: [FileAttribute], synchronize: Bool
    ) throws(SystemError) -> String {
        try change("write", directory) { tree throws(SystemError) in
            let name = Directory.temporaryPrefix + MemoryDisk.name(&tree) + Directory.temporarySuffix
            let path = directory.isEmpty ? name : directory + "/" + name
            let inode = try tree.create(path, .bytes(bytes), mode: mode ?? 0o644, "write")
            tree.nodes[inode]?.attributes = attributes
            if synchronize { tree.synchronize(inode) }
            return path
        }
    }

    private static func name(_ tree: inout MemoryTree) -> String {
        defer { tree.nextName += 1 }
        let digits = String(tree.nextName, radix: 16)
        return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
    }

    package func uniqueName() -> String { tree.withLock { MemoryDisk.name(&$0) } }

    package func synchronizeFile(_ path: String) throws(SystemError) {
        try change("write to disk", path) { tree throws(SystemError) in
            tree.synchronize(try tree.find(path, "write to disk"))
        }
    }

    package func synchronizeFileSystems(of paths: [String]) throws(SystemError) {
        try change("write to disk", paths.first ?? "") { tree throws(SystemError) in tree.synchronizeAll() }
    }

    package func synchronizeDirectory(_ directory: String) throws(SystemError) {
        try change("write to disk", directory) { tree throws(SystemError) in
            tree.synchronize(try tree.find(directory, "write to disk"))
        }
    }

    package func move(
        _ path: String, to target: String, _ mode: Directory.RenameMode
    ) throws(SystemError) -> CopiedMove? {
        try change("rename", path) { tree throws(SystemError) in
            // The writer that used the path has finished and synchronized the file.
            if let inode = try? tree.find(path, "rename"), case .open(let file)? = tree.nodes[inode]?.content,
                file.path != nil
            {
                tree.nodes[inode]?.content = .bytes(try file.bytes())
                tree.synchronize(inode)
            }
            try tree.rename(path, to: target, mode)
            return nil
        }
    }

    package func setMode(_ path: String, _ mode: UInt32) throws(SystemError) {
        try change("change the mode of", path) { tree throws(SystemError) in
            let inode = try tree.find(path, "change the mode of")
            try tree.checkWritable("change the mode of", path)
            tree.nodes[inode]?.mode = mode
            try MemoryDisk.touch(inode, path, &tree)
        }
    }

    /// Records a change of metadata.
    static func touch(_ inode: UInt64, _ path: String, _ tree: inout MemoryTree) throws(SystemError) {
        let now = tree.tick()
        tree.nodes[inode]?.changed = now
        if path.isEmpty { return }
        let (parent, name) = try tree.place(path, "examine")
        let isDirectory = tree.nodes[inode]?.kind == .directory
        tree.post(parent, isDirectory ? [.attributes, .directory] : .attributes, name)
    }

    package func remove(_ path: String) throws(SystemError) {
        try change("remove", path) { tree throws(SystemError) in try tree.remove(path, isDirectory: false) }
    }

    package func removeDirectory(_ path: String) throws(SystemError) {
        try change("remove the directory", path) { tree throws(SystemError) in
            try tree.remove(path, isDirectory: true)
        }
    }

    package func removeTree(_ path: String) throws(SystemError) {
        try change("remove", path) { tree throws(SystemError) in
            do throws(SystemError) {
                try MemoryDisk.removeTree(path, &tree)
            } catch {
                if error.code != .notFound { throw error }
            }
        }
    }

    private static func removeTree(_ path: String, _ tree: inout MemoryTree) throws(SystemError) {
        let inode = try tree.find(path, "remove")
        guard let children = tree.nodes[inode]?.children else { return try tree.remove(path, isDirectory: false) }
        for name in children.sorted(by: { $0.value < $1.value }).map(\.key.string) {
            try removeTree(path + "/" + name, &tree)
        }
        try tree.remove(path, isDirectory: true)
    }

    package func makeDirectories(_ path: String) throws(SystemError) {
        try change("make the directory", path) { tree throws(SystemError) in
            var made = ""
            for part in path.split(separator: "/") {
                made += made.isEmpty ? String(part) : "/" + part
                do throws(SystemError) {
                    _ = try tree.create(made, .directory([:]), mode: 0o755, "make the directory")
                } catch {
                    guard error.code == .exists else { throw error }
                }
            }
        }
    }

    package func attributes(_ path: String) throws(SystemError) -> [FileAttribute] {
        try change("read the attributes of", path) { tree throws(SystemError) in
            guard let node = tree.nodes[try tree.find(path, "read the attributes of")] else { return [] }
            // As xattr(7) says of the attributes of users.
            guard node.mode & 0o400 != 0 else { throw tree.error(Errno.access, "read the attributes of", path) }
            return node.attributes
        }
    }

    package func setAttribute(
        _ path: String, _ attribute: FileAttribute, of wanted: UInt64?
    ) throws(SystemError) -> Bool {
        try change("set the attribute of", path) { tree throws(SystemError) in
            let inode = try tree.find(path, "set the attribute of")
            if let wanted, tree.status(of: inode)?.inode != wanted { return false }
            try tree.checkWritable("set the attribute of", path)
            guard let node = tree.nodes[inode], node.kind != .file || node.mode & 0o200 != 0 else {
                throw tree.error(Errno.access, "set the attribute of", path)
            }
            tree.nodes[inode]?.attributes.removeAll { $0.name == attribute.name }
            tree.nodes[inode]?.attributes.append(attribute)
            try MemoryDisk.touch(inode, path, &tree)
            return true
        }
    }

    package func isMountPoint(_ directory: String) throws(SystemError) -> Bool { try isOnOtherFileSystem(directory) }

    package func startWatching() throws(SystemError) {
        try change("start watching", "") { tree throws(SystemError) in tree.startWatching() }
    }

    package func unwatch(_ watch: Int32) {
        tree.withLock { $0.unwatch(watch) }
    }

    package func takeEvents() throws(SystemError) -> [InotifyEvent] {
        tree.withLock { tree in
            // Return a bounded number, as a read of 64 KiB does.
            defer { tree.queue.removeFirst(min(2000, tree.queue.count)) }
            return Array(tree.queue.prefix(2000))
        }
    }

    package func waitForEvents() async throws {
        while tree.withLock({ $0.queue.isEmpty }) {
            try Task.checkCancellation()
            await bell.wait()
        }
    }
}

import Synchronization
package import SystemIO

/// Changes that a user and the user's programs make without Ferry's knowledge. Every other call of
/// the disk may be used for that too.
extension MemoryDisk {
    /// The way in which a program saves a file.
    package enum SaveHabit: CaseIterable, Sendable {
        /// Truncates, writes and closes, like nano and a shell's `>`.
        case inPlace
        /// Writes a file with an ignored name and renames it over the old one, like `sed -i` and
        /// gedit.
        case renamingOver
        /// Renames the old file to `X~`, writes a new one and removes the old one, like vim with
        /// `backupcopy=no`.
        case backupDance
        /// Removes the file and creates a new one.
        case deleteAndCreate
        /// Truncates and closes, then opens again and writes.
        case truncatingFirst
    }

    /// Saves a file completely, in one or several steps. The directory must exist.
    package func save(_ path: String, _ bytes: [UInt8], habit: SaveHabit = .inPlace) throws(SystemError) {
        switch habit {
        case .inPlace: try write(path, bytes)
        case .renamingOver:
            try write(path + ".swp", bytes)
            try rename(path + ".swp", to: path, .replacing)
        case .backupDance:
            try rename(path, to: path + "~", .replacing)
            try write(path, bytes)
            try remove(path + "~")
        case .deleteAndCreate:
            try remove(path)
            try write(path, bytes)
        case .truncatingFirst:
            try write(path, [])
            try write(path, bytes)
        }
    }

    /// Opens, truncates, writes and, if `closing`, closes a file.
    package func write(_ path: String, _ bytes: [UInt8], closing: Bool = true) throws(SystemError) {
        try change("write", path) { tree throws(SystemError) in
            let inode: UInt64
            do throws(SystemError) {
                inode = try tree.find(path, "write")
            } catch {
                guard error.code == .notFound else { throw error }
                inode = try tree.create(path, .bytes([]), mode: 0o644, "write")
            }
            guard tree.nodes[inode]?.kind == .file else { throw tree.error(Errno.isDirectory, "write", path) }
            let hadContent = (tree.nodes[inode]?.size ?? 0) > 0
            try tree.setBytes(inode, bytes, "write", path)
            let (parent, name) = try tree.place(path, "write")
            if hadContent || !bytes.isEmpty { tree.post(parent, .written, name) }
            if closing { tree.post(parent, .closedAfterWriting, name) }
        }
    }

    /// Writes a file in place and sets its time of modification back, like `rsync --inplace -t`.
    package func writeKeepingTime(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        let modified = try status(path).modified
        try write(path, bytes)
        try change("set the time of", path) { tree throws(SystemError) in
            let inode = try tree.find(path, "set the time of")
            tree.nodes[inode]?.modified = modified
            try MemoryDisk.touch(inode, path, &tree)
        }
    }

    /// Copies a file. The copy has its own inode and times.
    package func copy(_ path: String, to target: String) throws(SystemError) {
        try write(target, try read(path, limit: .max).bytes)
    }

    package func makeLink(_ path: String) throws(SystemError) {
        try change("link", path) { tree throws(SystemError) in
            _ = try tree.create(path, .link, mode: 0o777, "link")
        }
    }

    package func makePipe(_ path: String) throws(SystemError) {
        try change("make a pipe", path) { tree throws(SystemError) in
            _ = try tree.create(path, .pipe, mode: 0o644, "make a pipe")
        }
    }

    // MARK: What happens to disks

    /// Sets the capacity in bytes, at which writes fail. A disk without limit has `Int.max`.
    package func setCapacity(_ bytes: Int) { tree.withLock { $0.capacity = bytes } }

    package var capacity: Int { tree.withLock { $0.capacity } }

    package var usedBytes: Int { tree.withLock { $0.used } }

    /// Sets whether time stands still, as within one second of a clock with whole seconds (FAT,
    /// ext3).
    package func setClockStopped(_ isStopped: Bool) { tree.withLock { $0.isClockStopped = isStopped } }

    package func setReadOnly(_ isReadOnly: Bool) { tree.withLock { $0.isReadOnly = isReadOnly } }

    package func setWatchLimit(_ limit: Int) { tree.withLock { $0.watchLimit = limit } }

    /// Sets whether the inode number of a removed file is reused, as by most file systems.
    package func setReusesInodes(_ reuses: Bool) { tree.withLock { $0.reusesInodes = reuses } }

    package func setQueueLimit(_ limit: Int) { tree.withLock { $0.queueLimit = limit } }

    /// Simulates an unmount: the root does not exist until this is set back.
    package func setRootMissing(_ isMissing: Bool) { tree.withLock { $0.isRootMissing = isMissing } }

    /// Replaces the root by an empty directory, like the mount point of an unmounted disk.
    package func replaceRoot() {
        tree.withLock { tree in
            let now = tree.tick()
            tree.root = tree.nextInode
            tree.nextInode += 1
            tree.nodes[tree.root] = MemoryNode(content: .directory([:]), mode: 0o755, modified: now, changed: now)
            tree.synchronize(tree.root)
        }
    }

    /// Mounts an empty file system over a directory. No event reports it.
    ///
    /// - Returns: The number of the directory, with which it is unmounted.
    package func mount(over path: String) throws(SystemError) -> UInt64 {
        try change("mount", path) { tree throws(SystemError) in
            let directory = try tree.find(path, "mount")
            let (now, root) = (tree.tick(), tree.nextInode)
            tree.nextInode += 1
            tree.nodes[root] = MemoryNode(content: .directory([:]), mode: 0o755, modified: now, changed: now)
            tree.nodes[root]?.device = MemoryTree.device + root
            tree.mounts[directory] = root
            return directory
        }
    }

    /// Unmounts what is mounted over a directory.
    ///
    /// - Returns: Whether something was.
    package func unmount(_ directory: UInt64) -> Bool {
        defer { bell.set() }
        return tree.withLock { tree in
            guard let root = tree.mounts.removeValue(forKey: directory) else { return false }
            if let watch = tree.nodes[root]?.watch {
                tree.push(InotifyEvent(watch: watch, mask: .unmounted))
                tree.push(InotifyEvent(watch: watch, mask: .ignored))
                tree.watches[watch] = nil
            }
            tree.nodes[root] = nil
            return true
        }
    }

    /// Returns the path of a directory by its number.
    package func path(of directory: UInt64) -> String? {
        contents().keys.first { (try? status($0.string))?.inode == directory }?.string
    }

    /// Returns a disk with the same tree, on which nothing is open or watched, and with room.
    package func copy() -> MemoryDisk {
        let copy = MemoryDisk(scratch: scratch)
        copy.tree.withLock { $0 = tree.withLock { $0.closed } }
        return copy
    }

    /// Makes everything so far survive a power cut.
    package func synchronizeAll() { tree.withLock { $0.synchronizeAll() } }

    /// Simulates a power cut: everything that was not synchronized is lost, and the folder must be
    /// recreated.
    package func losePower() { tree.withLock { $0.losePower() } }

    /// Returns every file and directory with its content for comparisons; nil for directories.
    package func contents() -> [TaskPath: [UInt8]?] {
        tree.withLock { tree in
            var contents: [TaskPath: [UInt8]?] = [:]
            var left = [(path: "", inode: tree.root)]
            while let (path, inode) = left.popLast() {
                guard let node = tree.nodes[inode] else { continue }
                for (name, child) in node.children ?? [:] {
                    let child = tree.mounts[child] ?? child
                    left.append((path.isEmpty ? name.string : path + "/" + name.string, child))
                }
                if path.isEmpty { continue }
                contents[TaskPath(unchecked: path)] = .some(
                    node.kind == .file ? (try? MemoryDisk.bytes(node)) ?? [] : nil)
            }
            return contents
        }
    }
}

/// The in-memory counterpart of `DirectoryTaskFolder`: the same code over a disk in memory.
package typealias MemoryTaskFolder = DiskTaskFolder<MemoryDisk>

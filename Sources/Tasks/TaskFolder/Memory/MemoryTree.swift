import SystemIO

/// The state of a disk in memory: a tree of nodes with the rules of a Linux file system, and the
/// queue of inotify(7) records that its changes cause. It is a value, so copying it makes a
/// snapshot.
struct MemoryTree: Sendable {
    static let device: UInt64 = 7

    var nodes: [UInt64: MemoryNode] = [:]
    var root: UInt64 = 2
    var isRootMissing = false
    /// The state that would remain after a power cut.
    var durable: [UInt64: MemoryNode] = [:]
    /// The directories between which something was moved since they were synchronized.
    var joined: [UInt64: Set<UInt64>] = [:]

    /// The roots of file systems that are mounted over directories, by these directories.
    var mounts: [UInt64: UInt64] = [:]

    var nextInode: UInt64 = 3
    /// Whether the inode number of a removed file is reused, as by most file systems.
    var reusesInodes = false
    var freedInodes: [UInt64] = []
    var nextCookie: UInt32 = 1
    var nextName: UInt64 = 1
    /// The clock, which gives each change a time of its own, like a file system with fine time
    /// stamps.
    var clock = FileTime(seconds: 1_700_000_000, nanoseconds: 0)

    var capacity = Int.max
    var used = 0
    var isReadOnly = false
    var isClockStopped = false

    var isWatching = false
    var nextWatch: Int32 = 1
    var watches: [Int32: UInt64] = [:]
    var watchLimit = Int.max
    var queue: [InotifyEvent] = []
    var queueLimit = 16384
    /// The nodes that have no name any more but are open.
    var opened: Set<UInt64> = []

    init() {
        nodes[root] = MemoryNode(content: .directory([:]), mode: 0o755, modified: clock, changed: clock)
        durable = nodes
    }

    /// The tree as another computer would find it: nothing is open or watched, and there is room.
    var closed: MemoryTree {
        var tree = self
        for (inode, node) in nodes {
            if case .open = node.content { tree.nodes[inode]?.content = .bytes((try? MemoryDisk.bytes(node)) ?? []) }
            tree.nodes[inode]?.watch = nil
        }
        (tree.isWatching, tree.watches, tree.queue, tree.opened) = (false, [:], [], [])
        (tree.isRootMissing, tree.isReadOnly, tree.capacity, tree.watchLimit) = (false, false, .max, .max)
        return tree
    }

    mutating func tick() -> FileTime {
        if isClockStopped { return FileTime(seconds: clock.seconds, nanoseconds: 0) }
        clock.nanoseconds += 1_000_000
        if clock.nanoseconds >= 1_000_000_000 {
            clock = FileTime(seconds: clock.seconds + 1, nanoseconds: 0)
        }
        return clock
    }

    func error(_ errno: Int32, _ operation: String, _ path: String) -> SystemError {
        SystemError(errno: errno, operation: operation, path: path)
    }

    // MARK: Paths

    /// Returns the node of a path, without following links.
    func find(_ path: String, _ operation: String) throws(SystemError) -> UInt64 {
        if isRootMissing { throw error(Errno.noEntry, operation, path) }
        if path.isEmpty { return root }
        let (parent, name) = try place(path, operation)
        guard let node = nodes[parent]?.children?[name] else { throw error(Errno.noEntry, operation, path) }
        return mounts[node] ?? node
    }

    /// Returns the directory of the last component and that component, which need not exist.
    func place(_ path: String, _ operation: String) throws(SystemError) -> (parent: UInt64, name: ExactText) {
        if isRootMissing { throw error(Errno.noEntry, operation, path) }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw SystemError(.invalidName, operation: operation, path: path)
        }
        var rest = path[...]
        var current = root
        while let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) {
            let name = String(rest[..<slash])
            try check(name, operation, path)
            let children = try entered(current, operation, path)
            guard let next = children[ExactText(name)] else { throw error(Errno.noEntry, operation, path) }
            current = mounts[next] ?? next
            rest = rest[rest.utf8.index(after: slash)...]
        }
        let last = String(rest)
        try check(last, operation, path)
        _ = try entered(current, operation, path)
        return (current, ExactText(last))
    }

    private func check(_ name: String, _ operation: String, _ path: String) throws(SystemError) {
        if name.isEmpty || name == "." || name == ".." { throw error(Errno.crossDevice, operation, path) }
        if name.utf8.count > 255 { throw error(Errno.nameTooLong, operation, path) }
    }

    private func entered(
        _ inode: UInt64, _ operation: String, _ path: String
    ) throws(SystemError) -> [ExactText: UInt64] {
        guard let node = nodes[inode] else { throw error(Errno.noEntry, operation, path) }
        guard let children = node.children else {
            throw error(node.kind == .link ? Errno.loop : Errno.notDirectory, operation, path)
        }
        guard node.mode & 0o100 != 0 else { throw error(Errno.access, operation, path) }
        return children
    }

    func status(of inode: UInt64) -> FileStatus? {
        guard let node = nodes[inode] else { return nil }
        return FileStatus(
            kind: node.kind, device: node.device, inode: inode, size: Int64(node.size), modified: node.modified,
            changed: node.changed, mode: node.mode, owner: 0, links: 1)
    }

    // MARK: Changes

    /// Checks that a node is no mount point, and on the same file system as a directory.
    private func checkMovable(
        _ inode: UInt64, to directory: UInt64, _ operation: String, _ path: String
    ) throws(SystemError) {
        if mounts[inode] != nil || mounts.values.contains(inode) { throw error(Errno.busy, operation, path) }
        if nodes[inode]?.device != nodes[directory]?.device { throw error(Errno.crossDevice, operation, path) }
    }

    func checkWritable(_ operation: String, _ path: String) throws(SystemError) {
        if isReadOnly { throw error(Errno.readOnly, operation, path) }
    }

    private mutating func claim(_ bytes: Int, _ operation: String, _ path: String) throws(SystemError) {
        guard bytes <= 0 || used <= capacity - bytes else { throw error(Errno.noSpace, operation, path) }
        used += bytes
    }

    mutating func create(
        _ path: String, _ content: MemoryNode.Content, mode: UInt32, _ operation: String
    ) throws(SystemError) -> UInt64 {
        let (parent, name) = try place(path, operation)
        try checkWritable(operation, path)
        // Nothing that is mounted over a directory can be written.
        if nodes[parent]?.device != MemoryTree.device { throw error(Errno.readOnly, operation, path) }
        guard let children = nodes[parent]?.children else { throw error(Errno.notDirectory, operation, path) }
        guard children[name] == nil else { throw error(Errno.exists, operation, path) }
        var size = 0
        if case .bytes(let bytes) = content { size = bytes.count }
        // A name takes space too, so nothing can be created on a full disk.
        guard used < capacity else { throw error(Errno.noSpace, operation, path) }
        try claim(size, operation, path)
        let inode = takeInode(in: parent)
        let now = tick()
        nodes[inode] = MemoryNode(content: content, mode: mode, modified: now, changed: now)
        setChild(name, of: parent, to: inode)
        let isDirectory = nodes[inode]?.kind == .directory
        post(parent, isDirectory ? [.created, .directory] : .created, name)
        return inode
    }

    private mutating func takeInode(in parent: UInt64) -> UInt64 {
        guard reusesInodes, let freed = freedInodes.popLast() else {
            defer { nextInode += 1 }
            return nextInode
        }
        // After a power cut, either the old file has the old name or the new file has the new one.
        let names = durable.filter { $0.value.children?.values.contains(freed) ?? false }.map(\.key)
        if names.isEmpty { durable[freed] = nil }
        joined[freed] = nil
        let together = Set(names + [parent, freed])
        for directory in together where !names.isEmpty {
            joined[directory, default: []].formUnion(together.subtracting([directory]))
        }
        return freed
    }

    private mutating func setChild(_ name: ExactText, of parent: UInt64, to inode: UInt64?) {
        guard var node = nodes.removeValue(forKey: parent), var children = node.children else { return }
        // No other reference to the children exists now, so they are changed in place.
        node.content = .link
        children[name] = inode
        node.content = .directory(children)
        let now = tick()
        node.modified = now
        node.changed = now
        nodes[parent] = node
    }

    mutating func setBytes(
        _ inode: UInt64, _ bytes: [UInt8], _ operation: String, _ path: String
    ) throws(SystemError) {
        try checkWritable(operation, path)
        try claim(bytes.count - (nodes[inode]?.claimed ?? 0), operation, path)
        let now = tick()
        nodes[inode]?.content = .bytes(bytes)
        nodes[inode]?.modified = now
        nodes[inode]?.changed = now
    }

    mutating func remove(_ path: String, isDirectory: Bool) throws(SystemError) {
        let operation = isDirectory ? "remove the directory" : "remove"
        let inode = try find(path, operation)
        try checkWritable(operation, path)
        let (parent, name) = try place(path, operation)
        guard let node = nodes[inode] else { return }
        try checkMovable(inode, to: parent, operation, path)
        if isDirectory {
            guard let children = node.children else { throw error(Errno.notDirectory, operation, path) }
            guard children.isEmpty else { throw error(Errno.notEmpty, operation, path) }
        } else if node.kind == .directory {
            throw error(Errno.isDirectory, operation, path)
        }
        unlink(inode)
        setChild(name, of: parent, to: nil)
        post(parent, isDirectory ? [.deleted, .directory] : .deleted, name)
    }

    /// Removes a node that has lost its name.
    private mutating func unlink(_ inode: UInt64) {
        if let watch = nodes[inode]?.watch {
            push(InotifyEvent(watch: watch, mask: .deletedItself))
            push(InotifyEvent(watch: watch, mask: .ignored))
            watches[watch] = nil
        }
        used -= nodes[inode]?.claimed ?? 0
        // If only its name was synchronized, a power cut brings the name back.
        if durable[inode] == nil { durable[inode] = nodes[inode].map { emptied($0) } }
        guard !opened.contains(inode) else { return }
        nodes[inode] = nil
        if reusesInodes { freedInodes.append(inode) }
    }

    mutating func rename(_ path: String, to target: String, _ mode: Directory.RenameMode) throws(SystemError) {
        let inode = try find(path, "rename")
        let (from, old) = try place(path, "rename")
        let (to, new) = try place(target, "rename to")
        try checkWritable("rename", path)
        let there = nodes[to]?.children?[new]
        let isDirectory = nodes[inode]?.kind == .directory
        try checkMovable(inode, to: to, "rename", path)
        if let there { try checkMovable(there, to: from, "rename to", target) }
        if isDirectory, isBeneath(to, inode) { throw error(Errno.invalid, "rename", path) }
        switch mode {
        case .exclusive:
            if there != nil { throw error(Errno.exists, "rename to", target) }
        case .exchanging:
            guard let there else { throw error(Errno.noEntry, "rename to", target) }
            if nodes[there]?.kind == .directory, isBeneath(from, there) { throw error(Errno.invalid, "rename", path) }
            if there != inode { exchange((inode, from, old), (there, to, new)) }
            return
        case .replacing:
            guard let there else { break }
            if there == inode { return }
            switch (isDirectory, nodes[there]?.children) {
            case (true, nil): throw error(Errno.notDirectory, "rename to", target)
            case (false, .some): throw error(Errno.isDirectory, "rename to", target)
            case (true, let children?) where !children.isEmpty: throw error(Errno.notEmpty, "rename to", target)
            default: unlink(there)
            }
        }
        move(inode, from: (from, old), to: (to, new))
    }

    private mutating func move(
        _ inode: UInt64, from: (parent: UInt64, name: ExactText), to: (parent: UInt64, name: ExactText)
    ) {
        setChild(from.name, of: from.parent, to: nil)
        setChild(to.name, of: to.parent, to: inode)
        if from.parent != to.parent {
            joined[from.parent, default: []].insert(to.parent)
            joined[to.parent, default: []].insert(from.parent)
        }
        let now = tick()
        nodes[inode]?.changed = now
        postMove(inode, from: from, to: to)
    }

    private mutating func exchange(
        _ a: (inode: UInt64, parent: UInt64, name: ExactText), _ b: (inode: UInt64, parent: UInt64, name: ExactText)
    ) {
        for (place, inode) in [(a, b.inode), (b, a.inode)] {
            setChild(place.name, of: place.parent, to: inode)
            let now = tick()
            nodes[inode]?.changed = now
        }
        postMove(a.inode, from: (a.parent, a.name), to: (b.parent, b.name))
        postMove(b.inode, from: (b.parent, b.name), to: (a.parent, a.name))
    }

    private func isBeneath(_ inode: UInt64, _ ancestor: UInt64) -> Bool {
        if inode == ancestor { return true }
        guard let children = nodes[ancestor]?.children else { return false }
        return children.values.contains { nodes[$0]?.kind == .directory && isBeneath(inode, $0) }
    }
}

/// Error numbers of errno(3) on Linux.
enum Errno {
    static let noEntry: Int32 = 2
    static let access: Int32 = 13
    static let busy: Int32 = 16
    static let exists: Int32 = 17
    static let crossDevice: Int32 = 18
    static let notDirectory: Int32 = 20
    static let isDirectory: Int32 = 21
    static let invalid: Int32 = 22
    static let noSpace: Int32 = 28
    static let readOnly: Int32 = 30
    static let nameTooLong: Int32 = 36
    static let notEmpty: Int32 = 39
    static let loop: Int32 = 40
}

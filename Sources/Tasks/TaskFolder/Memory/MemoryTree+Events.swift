import SystemIO

extension MemoryTree {
    /// Adds an event about a name to the watch of its directory.
    mutating func post(
        _ directory: UInt64, _ mask: InotifyEvent.Mask, _ name: ExactText, cookie: UInt32 = 0
    ) {
        guard let watch = nodes[directory]?.watch else { return }
        push(InotifyEvent(watch: watch, mask: mask, cookie: cookie, name: name.string))
    }

    mutating func postMove(
        _ inode: UInt64, from: (parent: UInt64, name: ExactText), to: (parent: UInt64, name: ExactText)
    ) {
        let directory: InotifyEvent.Mask = nodes[inode]?.kind == .directory ? .directory : []
        let cookie = nextCookie
        nextCookie += 1
        post(from.parent, directory.union(.movedFrom), from.name, cookie: cookie)
        post(to.parent, directory.union(.movedTo), to.name, cookie: cookie)
        if let watch = nodes[inode]?.watch { push(InotifyEvent(watch: watch, mask: .movedItself)) }
    }

    /// Adds an event like the kernel: a repetition of the last record is dropped, and a record that
    /// does not fit becomes an overflow.
    mutating func push(_ event: InotifyEvent) {
        guard isWatching, queue.last != event else { return }
        if queue.count < queueLimit {
            queue.append(event)
        } else if queue.last?.mask != .overflow {
            queue.append(InotifyEvent(watch: -1, mask: .overflow))
        }
    }

    mutating func watch(_ directory: UInt64, _ path: String) -> Result<Int32?, SystemError> {
        guard isWatching else { return .success(nil) }
        if let watch = nodes[directory]?.watch { return .success(watch) }
        guard watches.count < watchLimit else {
            return .failure(
                SystemError(
                    .watchLimit, errno: Errno.noSpace, operation: "watch", path: path,
                    remedy: "Raise the limit of watches, here \(watchLimit)"))
        }
        let watch = nextWatch
        nextWatch += 1
        watches[watch] = directory
        nodes[directory]?.watch = watch
        return .success(watch)
    }

    mutating func startWatching() {
        for directory in watches.values { nodes[directory]?.watch = nil }
        watches = [:]
        queue = []
        isWatching = true
    }

    mutating func unwatch(_ watch: Int32) {
        guard let directory = watches.removeValue(forKey: watch) else { return }
        nodes[directory]?.watch = nil
        push(InotifyEvent(watch: watch, mask: .ignored))
    }

    // MARK: Power cuts

    /// Makes a node durable. Directories between which something was moved become durable together,
    /// as with a journal, so that the moved file is neither lost nor in both.
    mutating func synchronize(_ inode: UInt64) {
        var left = [inode]
        while let inode = left.popLast() {
            durable[inode] = nodes[inode]
            left += joined.removeValue(forKey: inode) ?? []
        }
    }

    mutating func synchronizeAll() {
        durable = nodes
        joined = [:]
    }

    /// Goes back to the durable state. A file whose name was synchronized but not its content is
    /// empty, as on many file systems. Watches and open files are gone.
    mutating func losePower() {
        var left: [UInt64: MemoryNode] = [:]
        var names = [root]
        while let inode = names.popLast() {
            guard left[inode] == nil else { continue }
            guard var node = durable[inode] ?? nodes[inode].map({ emptied($0) }) else { continue }
            node.watch = nil
            left[inode] = node
            if let children = node.children { names += children.values }
        }
        nodes = left
        durable = left
        joined = [:]
        used = left.values.reduce(0) { $0 + $1.claimed }
        mounts = [:]
        opened = []
        freedInodes = []
        watches = [:]
        queue = []
        isWatching = false
    }

    func emptied(_ node: MemoryNode) -> MemoryNode {
        var node = node
        switch node.content {
        case .bytes, .open: node.content = .bytes([])
        case .directory: node.content = .directory([:])
        default: break
        }
        return node
    }
}

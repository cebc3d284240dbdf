import TaskFolder

/// Where each task's file is and what it was when last in step; the part of the shadow that is kept in memory.
struct FileIndex {
    struct Entry: Hashable {
        var task: String
        var stamp: FileStamp
    }

    /// One file, by device and number.
    private struct Inode: Hashable {
        let device: UInt64
        let number: UInt64

        init(_ stamp: FileStamp) {
            device = stamp.device
            number = stamp.inode
        }
    }

    private var entries: [TaskPath: Entry] = [:]
    private var paths: [String: TaskPath] = [:]
    private var inodes: [Inode: TaskPath] = [:]

    var count: Int { entries.count }

    subscript(path: TaskPath) -> Entry? { entries[path] }

    func path(of task: String) -> TaskPath? { paths[task] }

    /// The known path of the file with this inode.
    func path(withInodeOf stamp: FileStamp) -> TaskPath? { inodes[Inode(stamp)] }

    var allPaths: some Sequence<TaskPath> { entries.keys }

    func paths(beneath directory: TaskPath) -> [TaskPath] { entries.keys.filter { $0.isBeneath(directory) } }

    mutating func set(_ path: TaskPath, _ entry: Entry) {
        remove(task: entry.task)
        if let other = entries[path] { remove(task: other.task) }
        entries[path] = entry
        paths[entry.task] = path
        inodes[Inode(entry.stamp)] = path
    }

    mutating func remove(task: String) {
        guard let path = paths.removeValue(forKey: task), let entry = entries.removeValue(forKey: path) else { return }
        if inodes[Inode(entry.stamp)] == path { inodes[Inode(entry.stamp)] = nil }
    }
}

import SystemIO
import TaskFolder
import TaskModel

/// The paths of the tasks' files and their stamps when they were last in step; the part of the
/// shadow that is kept in memory.
struct FileIndex {
    struct Entry: Hashable {
        var task: TaskID
        var stamp: FileStamp
    }

    /// The identity of a file: device and inode number.
    private struct Inode: Hashable {
        let device: UInt64
        let number: UInt64

        init(_ stamp: FileStamp) {
            device = stamp.device
            number = stamp.inode
        }
    }

    /// The files. The tables below contain positions in this array, because their unused entries
    /// would otherwise be as large as the used ones.
    private var files: [(path: TaskPath, entry: Entry)?] = []
    private var freePlaces: [Int32] = []
    private var places: [TaskPath: Int32] = [:]
    private var tasks: [TaskID: Int32] = [:]
    private var inodes: [Inode: Int32] = [:]
    /// The tasks of files that were known under several names at once, such as hard links.
    private var links: [Inode: Set<TaskID>] = [:]
    /// The number of files in each directory itself. There are far fewer directories to search than
    /// files.
    private var directories: [TaskPath: Int] = [:]

    init() {}

    /// Creates an index.
    ///
    /// - Parameter files: Files without repeated paths or tasks.
    init(_ files: [(path: TaskPath, entry: Entry)]) {
        self.files.reserveCapacity(files.count)
        places.reserveCapacity(files.count)
        tasks.reserveCapacity(files.count)
        inodes.reserveCapacity(files.count)
        for file in files {
            let place = Int32(clamping: self.files.count)
            self.files.append(file)
            places[file.path] = place
            tasks[file.entry.task] = place
            directories[file.path.parent, default: 0] += 1
            let inode = Inode(file.entry.stamp)
            noteLink(inode, file.entry.task)
            // The number was given to a new file, for example while the delete of the old one is
            // held for review.
            if let other = inodes[inode].flatMap({ self[$0] }), other.entry.stamp.changed > file.entry.stamp.changed {
                continue
            }
            inodes[inode] = place
        }
    }

    var count: Int { places.count }

    subscript(path: TaskPath) -> Entry? { places[path].flatMap { self[$0]?.entry } }

    func path(of task: TaskID) -> TaskPath? { tasks[task].flatMap { self[$0]?.path } }

    /// Returns the known path of the file with this inode.
    func path(withInodeOf stamp: FileStamp) -> TaskPath? { inodes[Inode(stamp)].flatMap { self[$0]?.path } }

    /// The newest change of any known file; nil if there is none.
    var newestChange: FileTime? { files.lazy.compactMap { $0?.entry.stamp.changed }.max() }

    var allPaths: some Sequence<TaskPath> { places.keys }

    func paths(beneath directory: TaskPath) -> [TaskPath] {
        guard places[directory] != nil || directories.keys.contains(where: { $0.isBeneath(directory) }) else {
            return []
        }
        return places.keys.filter { $0.isBeneath(directory) }
    }

    /// The tasks whose files are in a directory itself.
    func tasks(in directory: TaskPath) -> [TaskID] {
        guard directories[directory] != nil else { return [] }
        return places.keys.filter { $0.parent == directory }.compactMap { self[$0]?.task }
    }

    mutating func set(_ path: TaskPath, _ entry: Entry) {
        remove(task: entry.task)
        if let other = self[path] { remove(task: other.task) }
        let place = freePlaces.popLast() ?? Int32(clamping: files.count)
        if Int(place) < files.count { files[Int(place)] = (path, entry) } else { files.append((path, entry)) }
        places[path] = place
        tasks[entry.task] = place
        directories[path.parent, default: 0] += 1
        let inode = Inode(entry.stamp)
        noteLink(inode, entry.task)
        inodes[inode] = place
    }

    /// Returns the other known paths of a file, which are hard links to it.
    func otherPaths(of stamp: FileStamp, than path: TaskPath) -> [TaskPath] {
        let tasks = links[Inode(stamp)] ?? []
        return tasks.compactMap(self.path(of:)).filter { $0 != path && self[$0]?.stamp.isFile(of: stamp) == true }
    }

    private mutating func noteLink(_ inode: Inode, _ task: TaskID) {
        guard let other = inodes[inode].flatMap({ self[$0]?.entry }), other.task != task, other.stamp != .none else {
            return
        }
        links[inode, default: [other.task]].insert(task)
    }

    mutating func remove(task: TaskID) {
        guard let place = tasks.removeValue(forKey: task), let (path, entry) = self[place] else { return }
        places[path] = nil
        let left = directories[path.parent, default: 0] - 1
        directories[path.parent] = left > 0 ? left : nil
        if inodes[Inode(entry.stamp)] == place { inodes[Inode(entry.stamp)] = nil }
        files[Int(place)] = nil
        freePlaces.append(place)
    }

    private subscript(place: Int32) -> (path: TaskPath, entry: Entry)? { files[Int(place)] }

    // MARK: Roll calls

    /// A record of which known files were seen. It is valid until the index is changed other than
    /// by removals.
    struct RollCall {
        fileprivate var isSeen: [Bool]
        fileprivate var count = 0
    }

    var rollCall: RollCall { RollCall(isSeen: Array(repeating: false, count: files.count)) }

    /// Returns the entry of a path, and records that its file was seen.
    func entry(_ path: TaskPath, seenIn call: inout RollCall) -> Entry? {
        guard let place = places[path] else { return nil }
        if !call.isSeen[Int(place)] { call.count += 1 }
        call.isSeen[Int(place)] = true
        return self[place]?.entry
    }

    func paths(notSeenIn call: RollCall) -> [TaskPath] {
        guard call.count < count else { return [] }
        return zip(files, call.isSeen).compactMap { file, isSeen in isSeen ? nil : file?.path }
    }
}

extension FileStamp {
    /// The stamp of a file that is still to be written.
    static let none = FileStamp(
        device: 0, inode: 0, size: -1, modified: .init(seconds: 0, nanoseconds: 0),
        changed: .init(seconds: 0, nanoseconds: 0))

    /// Creates the stamp of the same file with unknown content, so that it is read.
    init(unknownContentOf stamp: FileStamp) {
        self = stamp
        size = -1
    }
}

import TaskFolder

/// The file systems on which the task files in each directory were last seen. A list that is on
/// another one is covered: something was mounted over it, or it was a mount that is gone. The
/// absence of its files says nothing.
struct KnownFileSystems {
    private var devices: [TaskPath: Set<UInt64>] = [:]
    private var directories: [TaskPath: Set<TaskPath>] = [:]
    /// The present numbers of file systems that have got another one since, as their files show.
    private var renumbered: [UInt64: UInt64] = [:]

    init(_ index: FileIndex) {
        for path in index.allPaths {
            guard let stamp = index[path]?.stamp, stamp != .none else { continue }
            if devices[path.parent, default: []].insert(stamp.device).inserted { add(path.parent) }
        }
    }

    private mutating func add(_ directory: TaskPath) {
        guard !directory.isRoot, directories[directory.parent, default: []].insert(directory).inserted else { return }
        add(directory.parent)
    }

    /// Whether a list is covered. Directories have to be passed before those in them.
    ///
    /// - Parameters:
    ///   - files: The task files that are in its directory now.
    ///   - children: The directories that are in it now.
    ///   - device: Returns the present file system of the directory.
    ///   - known: Returns the file system on which a file was last seen; nil for an unknown file.
    mutating func isCovered(
        _ list: TaskPath, _ files: [ScannedFile], _ children: Set<TaskPath>, _ device: () -> UInt64?,
        known: (TaskPath) -> UInt64?
    ) -> Bool {
        let expected = expected(in: list, except: children)
        guard !expected.isEmpty, let now = files.first?.stamp.device ?? device(), expected != [now] else {
            return false
        }
        for file in files { if let old = known(file.path), old != now { renumbered[old] = now } }
        return !list.isRoot && expected.contains { $0 != now && renumbered[$0] != now }
    }

    /// Returns the file systems of the files in a directory and of those beneath directories that
    /// are gone.
    private func expected(in directory: TaskPath, except children: Set<TaskPath>) -> Set<UInt64> {
        (directories[directory] ?? []).subtracting(children).reduce(devices[directory] ?? []) {
            $0.union(expected(in: $1, except: []))
        }
    }
}

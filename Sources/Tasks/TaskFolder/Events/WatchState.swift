import SystemIO

/// The state of a folder's watches, which converts records of inotify(7) to events with paths.
struct WatchState: Sendable {
    /// A new directory that must be watched and listed.
    struct Arrival: Sendable {
        var path: TaskPath
        var parent: Int32
    }

    /// The results of one batch of records, in order.
    enum Output: Sendable {
        case event(FolderEvent)
        case arrival(Arrival)
        /// Watches that are no longer needed.
        case unwatch([Int32])
    }

    /// Whether events are wanted. They may have to wait until the system can provide a queue.
    var isWanted = false
    var isStarted = false
    /// Whether each directory was watched after the last scan.
    var isComplete = false
    private var tree = WatchTree()
    /// The directories of which only the first half of a rename has arrived, kept for this batch
    /// and the next.
    private var leaving: [UInt32: (watch: Int32, path: TaskPath, batch: Int)] = [:]
    private var batch = 0

    mutating func start() {
        self = WatchState()
        isWanted = true
        isStarted = true
    }

    /// Adds a directory that was listed.
    ///
    /// - Parameter obstacles: the names of the links, pipes, sockets and devices in it.
    mutating func insert(_ watch: Int32, path: TaskPath, parent: Int32?, obstacles: [String]) {
        // The scan has found the directory, which the second half of its rename, lost in an
        // overflow, would have reported.
        leaving = leaving.filter { $0.value.watch != watch }
        if let parent {
            tree.insert(watch, name: path.name, in: parent)
        } else if path.isRoot, tree.root != watch {
            tree.start(root: watch)
        }
        tree.set(obstacles: obstacles, in: watch)
    }

    mutating func handle(_ records: [InotifyEvent]) -> [Output] {
        if records.isEmpty { return [] }
        batch += 1
        var outputs: [Output] = []
        for record in records { handle(record, &outputs) }
        var gone: [Int32] = []
        for (cookie, directory) in leaving where directory.batch < batch {
            leaving[cookie] = nil
            gone += tree.remove(directory.watch)
        }
        // Before the arrivals: a directory that is back would get the watch that it still has, and lose it at once.
        return gone.isEmpty ? outputs : [.unwatch(gone)] + outputs
    }

    private mutating func handle(_ record: InotifyEvent, _ outputs: inout [Output]) {
        if record.mask.contains(.overflow) { return outputs.append(.event(.rescanNeeded(.overflow))) }
        if record.watch == tree.root, record.name == nil {
            if !record.mask.isDisjoint(with: [.deletedItself, .movedItself, .unmounted, .ignored]) {
                outputs.append(.event(.rootChanged))
            }
            return
        }
        if record.mask.contains(.unmounted) { return outputs.append(.event(.rescanNeeded(.unmounted))) }
        if record.mask.contains(.ignored) {
            tree.remove(record.watch)
            return
        }
        guard let name = record.name, let parent = tree.path(of: record.watch) else { return }
        if parent.isRoot, name == TaskPath.privateDirectory, !record.mask.isDisjoint(with: [.deleted, .movedFrom]) {
            return outputs.append(.event(.rootChanged))
        }
        let isNew = !record.mask.isDisjoint(with: [.created, .movedTo])
        let path = parent.appending(unchecked: name)
        if TaskPath.isIgnored(name) && !(record.mask.contains([.directory, .movedTo])) {
            // The name is ignored, but the event shows where a file has gone.
            if record.mask.contains(.movedTo) { outputs.append(.event(.movedTo(path, cookie: record.cookie))) }
            if record.mask.contains(.directory) { tell(FolderProblem(ofDirectory: path), of: path, record, &outputs) }
            return
        }
        let kind = TaskPath.kind(
            of: name, in: parent.kind(isDirectory: true), isDirectory: record.mask.contains(.directory))
        if record.isInvalidName || NameProblem(of: name) != nil {
            guard isNew else { return }
            return outputs.append(
                .event(
                    .problem(
                        FolderProblem(
                            .invalidName, path: record.isInvalidName ? path.string : escapedPath(path.string),
                            "its name cannot be synced; rename it"))))
        }
        if record.mask.contains(.directory) {
            tell(FolderProblem(ofDirectory: path), of: path, record, &outputs)
            handleDirectory(record, path, kind, &outputs)
        } else if kind == .taskFile || kind == .attachment {
            outputs += fileEvents(record, path).map { .event($0) }
        } else {
            // Report the rename, as for ignored names.
            if record.mask.contains(.movedTo) { outputs.append(.event(.movedTo(path, cookie: record.cookie))) }
            tell(FolderProblem(ofFile: path), of: path, record, &outputs)
            // What was in the place of a directory has gone, so the directory is not there.
            if !record.mask.isDisjoint(with: [.deleted, .movedFrom]), tree.removeObstacle(name, in: record.watch) {
                outputs.append(.event(.directoryRemoved(path)))
            }
        }
    }

    /// Reports a name that is a problem when it appears, and its removal.
    private func tell(
        _ problem: FolderProblem?, of path: TaskPath, _ record: InotifyEvent, _ outputs: inout [Output]
    ) {
        guard let problem else { return }
        // The name may have been something else before, which the other branches handle.
        if !record.mask.isDisjoint(with: [.created, .movedTo]) { outputs.append(.event(.problem(problem))) }
        if !record.mask.isDisjoint(with: [.deleted, .movedFrom]) { outputs.append(.event(.removed(path))) }
    }

    private func fileEvents(_ record: InotifyEvent, _ path: TaskPath) -> [FolderEvent] {
        let mask = record.mask
        if mask.contains(.created) { return [.created(path)] }
        if mask.contains(.movedTo) { return [.movedTo(path, cookie: record.cookie)] }
        if mask.contains(.movedFrom) { return [.movedFrom(path, cookie: record.cookie)] }
        if mask.contains(.deleted) { return [.removed(path)] }
        if mask.contains(.closedAfterWriting) { return [.closed(path)] }
        if mask.contains(.written) { return [.written(path)] }
        return mask.contains(.attributes) ? [.attributes(path)] : []
    }

    private mutating func handleDirectory(
        _ record: InotifyEvent, _ path: TaskPath, _ kind: TaskPath.Kind, _ outputs: inout [Output]
    ) {
        let isSeen = kind == .list || kind == .attachments
        if record.mask.contains(.movedFrom) {
            if let watch = tree.child(path.name, of: record.watch) {
                leaving[record.cookie] = (watch, path, batch)
                outputs.append(.event(.directoryRemoved(path)))
            }
        } else if record.mask.contains(.movedTo), let from = leaving.removeValue(forKey: record.cookie) {
            guard isSeen, kind == from.path.kind(isDirectory: true) else {
                // The directory has changed its kind, so report that the old one went and a new one
                // came.
                outputs.append(.unwatch(tree.remove(from.watch)))
                if isSeen { outputs.append(.arrival(Arrival(path: path, parent: record.watch))) }
                return
            }
            tree.insert(from.watch, name: path.name, in: record.watch)
            outputs.append(.event(.directoryMoved(from: from.path, to: path)))
        } else if !record.mask.isDisjoint(with: [.created, .movedTo]) {
            if isSeen { outputs.append(.arrival(Arrival(path: path, parent: record.watch))) }
        } else if record.mask.contains(.deleted) {
            if isSeen { outputs.append(.event(.directoryRemoved(path))) }
        } else if record.mask.contains(.attributes), isSeen {
            // Its mode may have changed, so entries that could not be seen may be visible now.
            outputs.append(.arrival(Arrival(path: path, parent: record.watch)))
        }
    }
}

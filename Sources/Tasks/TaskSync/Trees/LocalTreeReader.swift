import Cryptography
import DocumentClient
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
import TaskModel

/// Reads the tree of the tasks directory: examines all files and directories and identifies them.
struct LocalTreeReader {
    let folder: any TaskFolder
    let stored: StoredState
    let synced: SyncedTreeReader
    let remote: RemoteTree
    let userID: UserID
    /// Whether the server has reported all documents.
    let isServerCurrent: Bool

    /// The result of reading the tree.
    struct Look {
        var tree = LocalTree()
        /// The path of each file and directory that was found.
        var paths: [NodeID: TaskPath] = [:]
        var isSameRoot = true
    }

    /// A task file that was found.
    private struct FoundFile {
        let path: TaskPath
        let stamp: FileStamp
        let observation: Observation
        /// The contents; nil if the file cannot be parsed.
        let file: TaskFile?
    }

    /// Examines all files and directories.
    ///
    /// - Throws: `FolderError` if there is no tasks directory, or it cannot be listed.
    func look() throws(FolderError) -> Look {
        var (tasks, attached): ([ScannedFile], [ScannedFile]) = ([], [])
        let scan = try folder.scan(.look) { file in
            if file.isAttachment { attached.append(file) } else { tasks.append(file) }
        }
        var look = Look()
        look.isSameRoot = scan.isSameRoot
        let lists = addLists(scan, tasks, to: &look)
        let found = addTasks(scan, tasks, lists, to: &look)
        addAttachments(scan, attached, found, to: &look)
        return look
    }

    // MARK: Lists

    /// Adds the directories, and returns the list of each.
    private func addLists(_ scan: FolderScan, _ tasks: [ScannedFile], to look: inout Look) -> [TaskPath: ListID] {
        let rows = Dictionary(stored.files.map { (Stamp($0.stamp).file, $0) }) { first, _ in first }
        // A new file can have the inode number of one that is gone.
        let same = tasks.filter { file in
            guard let row = rows[Stamp(file.stamp).file] else { return false }
            return row.stamp.hasContent(of: file.stamp) || folder.taskID(of: file.path) == row.task
        }
        let inodes = Dictionary(grouping: same, by: \.path.parent).mapValues { Set($0.map { Stamp($0.stamp).file }) }
        let known = Dictionary(grouping: stored.files, by: \.path.parent).mapValues {
            Set($0.map { Stamp($0.stamp).file })
        }
        let placed = stored.listPaths
        var unfiled: [ListID: [FileName]] = [:]
        for view in stored.listDocuments where placed[view.name.list] == nil {
            let path = try? ListIndex.directory(named: TaskList(fields: view.fields).name) { _ in false }
            unfiled[view.name.list] = path.map(Self.names)
        }
        let identities = DirectoryIdentification.identify(
            DirectoryBatch(
                scan.lists.map { path in
                    let mark = (try? folder.listMark(path)) ?? nil
                    return ObservedDirectory(
                        Self.names(of: path), file: Self.number(ofMark: mark), files: inodes[path] ?? [])
                },
                known: stored.lists.map { list, path in
                    let mark = stored.listDirectories[list]?.mark
                    return KnownDirectory(
                        list, at: Self.names(of: path), file: Self.number(ofMark: mark), files: known[path] ?? [])
                }, unreachable: Set(scan.unreadable.map(Self.names)), isHiding: isHiding(in: scan), unfiled: unfiled))
        var lists: [TaskPath: ListID] = [:]
        for path in scan.lists.sorted() {
            let known = identities.lists[Self.names(of: path)]
            // Nothing is known about a directory that cannot be listed, not even whether it is new.
            if known == nil, scan.unreadable.contains(path) {
                let parent = lists[path.parent].map { NodeID.list($0) }
                look.tree.foreign.insert(Location(parent, FileName(path.name)))
                continue
            }
            let list = known ?? newList(at: path, lists.values)
            lists[path] = list
            let id = NodeID.list(list)
            look.paths[id] = path
            // Nothing can be written into it either.
            if scan.unreadable.contains(path) {
                look.tree[id] = .unreachable(.unreadable)
                continue
            }
            let location = Location(lists[path.parent].map { .list($0) }, FileName(path.name))
            look.tree[id] = .present(
                LocalFile(location: location, stamp: Self.directoryStamp(path), contents: TaskState.contents(of: [:])))
        }
        for (list, _) in stored.lists where look.paths[.list(list)] == nil {
            let list = list
            if !identities.missing.contains(list) { look.tree[.list(list)] = .unreachable(.unreadable) }
        }
        return lists
    }

    /// Returns the id for a new list, which every machine gives to a list with this name.
    private func newList(at path: TaskPath, _ used: some Sequence<ListID>) -> ListID {
        let taken = Set(stored.lists.map(\.list)).union(stored.listDocuments.map(\.name.list)).union(used)
        let id = ListIndex.ids(named: path.string, of: userID).first { !taken.contains($0) }
        return id ?? SyncedTreeReader.unlisted(path)
    }

    /// Whether a file or directory that was not found may be in a directory that could not be listed.
    private func isHiding(in scan: FolderScan) -> Bool {
        scan.unlisted.contains { stored.unlisted[$0.key] != $0.value }
    }

    /// Returns a number for the directory with a mark; nil without one. Marks identify directories,
    /// as inode numbers do.
    private static func number(ofMark mark: String?) -> Stamp.File? {
        mark.map { Stamp.File(device: 0, inode: ContentDigest(SHA256.hash($0)).prefix) }
    }

    private static func names(of path: TaskPath) -> [FileName] { path.components.map { FileName(String($0)) } }

    /// Returns the stamp of a directory. The tables contain no inode numbers of directories, so
    /// each counts as the same one at its path.
    private static func directoryStamp(_ path: TaskPath) -> Stamp {
        let time = Stamp.Time(seconds: 0, nanoseconds: 0)
        return Stamp(
            file: Stamp.File(device: 0, inode: ContentDigest(SHA256.hash(path.string)).prefix), size: 0, modified: time,
            changed: time)
    }

    // MARK: Tasks

    /// Adds the task files, and returns the task of each.
    private func addTasks(
        _ scan: FolderScan, _ tasks: [ScannedFile], _ lists: [TaskPath: ListID], to look: inout Look
    ) -> [TaskPath: TaskID] {
        var byPath: [TaskPath: FileRow] = [:]
        for row in stored.files { byPath[row.path] = row }
        var found: [Location: FoundFile] = [:]
        var unread: [TaskPath] = []
        for scanned in tasks {
            let location = Location(lists[scanned.path.parent].map { .list($0) }, FileName(scanned.path.name))
            if let file = read(scanned, at: location, byPath[scanned.path]) {
                found[location] = file
            } else {
                unread.append(scanned.path)
            }
        }
        let identities = Identification.identify(batch(found, unread, scan))
        var result: [TaskPath: TaskID] = [:]
        for (location, file) in found {
            let task: TaskID
            switch identities.files[location] {
            case .known(let known, _): task = known
            case .new: task = TaskID("new \(file.path)")
            case .lookAgain, .awaitsDocument, nil:
                look.tree.foreign.insert(location)
                continue
            }
            result[file.path] = task
            look.paths[.task(task)] = file.path
            look.tree[.task(task)] = state(of: file, task, at: location)
            if file.file == nil { look.tree.foreign.insert(location) }
        }
        for row in stored.files where look.paths[.task(row.task)] == nil {
            let id = NodeID.task(row.task)
            if !identities.missing.contains(row.task) { look.tree[id] = .unreachable(.unreadable) }
        }
        return result
    }

    private func state(of file: FoundFile, _ task: TaskID, at location: Location) -> PathState {
        guard let parsed = file.file else { return .unreachable(.malformed) }
        let (_, contents) = TaskState.state(
            of: parsed, named: file.path.name, isNameChosen: synced.isNameChosen(task))
        return .present(LocalFile(location: location, stamp: Stamp(file.stamp), contents: contents))
    }

    /// Reads a file, unless it is known to be unchanged. Returns nil if it cannot be read.
    private func read(_ scanned: ScannedFile, at location: Location, _ row: FileRow?) -> FoundFile? {
        let (bytes, stamp, mark): ([UInt8], FileStamp, TaskID?)
        if let row, row.stamp == scanned.stamp, !row.stamp.isCoarse {
            (bytes, stamp, mark) = (row.bytes, row.stamp, row.task)
        } else {
            guard let content = try? folder.read(scanned.path) else { return nil }
            (bytes, stamp, mark) = (content.bytes, content.stamp, folder.taskID(of: scanned.path))
        }
        return FoundFile(
            path: scanned.path, stamp: stamp,
            observation: Observation(
                at: location, stamp: Stamp(stamp), mark: mark,
                digest: ContentDigest(SHA256.hash(bytes)), lines: TaskState.lines(of: bytes)),
            file: try? TaskFile(parsing: bytes, named: scanned.path.name))
    }

    private func batch(_ found: [Location: FoundFile], _ unread: [TaskPath], _ scan: FolderScan) -> ObservationBatch {
        var known: [KnownFile] = []
        var (vacant, unreachable): (Set<Location>, Set<Location>) = ([], [])
        for row in stored.files {
            let location = synced.location(of: row.path)
            known.append(
                KnownFile(
                    row.task, at: location, stamp: Stamp(row.stamp),
                    digest: ContentDigest(SHA256.hash(row.bytes)), lines: TaskState.lines(of: row.bytes)))
            guard found[location] == nil else { continue }
            if !scan.sees(row.path) || unread.contains(row.path) {
                unreachable.insert(location)
            } else {
                vacant.insert(location)
            }
        }
        let rows = Set(stored.files.map(\.task))
        let unfiled = stored.taskDocuments.filter { !rows.contains($0.name.task) }.compactMap(unfiledDocument)
        return ObservationBatch(
            found.values.map(\.observation), known: known, vacant: vacant, unreachable: unreachable,
            isHiding: isHiding(in: scan), unfiled: unfiled,
            keepsMarks: folder.keepsIdentifiers, isServerCurrent: isServerCurrent)
    }

    private func unfiledDocument(_ view: DocumentSnapshot) -> UnfiledDocument? {
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(withoutAttachments: fields)
        let name = TaskFileName.file(for: TaskLayout.title(of: item, fields)).name
        guard let file = try? TaskLayout.file(for: item, fields, named: name, instead: nil) else { return nil }
        return UnfiledDocument(
            view.name.task, at: Location(item.listId.map { .list($0) }, FileName(name)),
            digest: ContentDigest(SHA256.hash(file.bytes)))
    }

    // MARK: Attachments

    private func addAttachments(
        _ scan: FolderScan, _ files: [ScannedFile], _ tasks: [TaskPath: TaskID], to look: inout Look
    ) {
        let rows = Dictionary(grouping: stored.attachments, by: \.task)
        let former = Dictionary(stored.files.map { ($0.path, $0.task) }) { first, _ in first }
        var byTask: [TaskID: [ScannedFile]] = [:]
        for file in files {
            let taskFile = file.path.taskFileOfAttachments
            // The directory of a renamed file still has the file's former name until it follows.
            guard let task = tasks[taskFile] ?? former[taskFile] else { continue }
            byTask[task, default: []].append(file)
        }
        for task in Set(byTask.keys).union(rows.keys) {
            addAttachments(of: task, byTask[task] ?? [], rows[task] ?? [], scan, former, to: &look)
        }
    }

    private func addAttachments(
        of task: TaskID, _ files: [ScannedFile], _ rows: [AttachmentRow], _ scan: FolderScan,
        _ former: [TaskPath: TaskID], to look: inout Look
    ) {
        let byName = Dictionary(rows.map { (FileName($0.name), $0) }) { first, _ in first }
        var observed: [ObservedAttachment] = []
        for file in files {
            let name = FileName(file.path.name)
            let known = byName[name].flatMap { $0.stamp == file.stamp ? ContentDigest(hex: $0.sha256) : nil }
            guard let digest = known ?? hash(file.path) else { continue }
            observed.append(ObservedAttachment(name, stamp: Stamp(file.stamp), digest: digest))
        }
        let known = rows.compactMap { row in
            ContentDigest(hex: row.sha256).map {
                KnownAttachment(row.attachment, FileName(row.name), stamp: Stamp(row.stamp), digest: $0)
            }
        }
        let identities = AttachmentIdentification.identify(observed, known: known, unfiled: unfiled(of: task, rows))
        for file in observed {
            let attachment = identities.files[file.name] ?? AttachmentID("new \(file.name)")
            look.tree[.attachment(attachment, of: task)] = .present(
                LocalFile(
                    location: Location(.task(task), file.name), stamp: file.stamp,
                    contents: Contents(digest: file.digest)))
        }
        let isSeen = former.filter { $0.value == task }.keys.allSatisfy { path in
            (try? path.attachmentsDirectory()).map(scan.sees) ?? false
        }
        for attachment in identities.missing where !isSeen || isHiding(in: scan) {
            look.tree[.attachment(attachment, of: task)] = .unreachable(.unreadable)
        }
    }

    /// Returns the attachments of a document that have no file here.
    private func unfiled(of task: TaskID, _ rows: [AttachmentRow]) -> [KnownAttachment] {
        let known = Set(rows.map { NodeID.attachment($0.attachment, of: task) })
        return remote.nodes(of: .task(task)).filter { !known.contains($0) }.compactMap { id in
            guard case .attachment(let attachment, _) = id, let state = remote[id].node?.state else { return nil }
            let none = FileStamp(unknownContentOf: .none)
            return KnownAttachment(attachment, state.name, stamp: Stamp(none), digest: state.contents.digest)
        }
    }

    /// Returns the digest of a file; nil if it cannot be read, or changes at the same time.
    private func hash(_ path: TaskPath) -> ContentDigest? {
        do {
            let snapshot = try folder.openSnapshot(path)
            var hash = SHA256()
            var offset: Int64 = 0
            while true {
                let part = try snapshot.descriptor.read(1 << 20, at: offset)
                if part.isEmpty { break }
                hash.update(part)
                offset += Int64(part.count)
            }
            return try snapshot.isUnchanged() ? ContentDigest(hash.finish()) : nil
        } catch {
            return nil
        }
    }
}

import Synchronization
import SystemIO

/// The trash of a task folder, `.ferry/trash`.
struct DiskTrash<Disk: FolderDisk> {
    let disk: Disk
    let numbers: TrashNumbers

    private static var path: String { TaskPath.privateDirectory + "/trash" }
    private static var origins: String { "origins" }

    /// Moves items into a new entry; see `TaskFolder.trash`.
    func take(_ items: [TrashItem], as name: String) throws(FolderError) -> TrashOutcome {
        guard Set(items.map { ExactText($0.path.name) }).count == items.count, !items.contains(where: \.path.isRoot)
        else { throw FolderError(.invalidName, "items that go to the trash together need names that differ") }
        for item in items {
            if let refusal = try refusal(of: item) { return refusal }
        }
        let entry = TrashEntry(name: name, origins: items.map(\.path))
        let directory = try translating { () throws(SystemError) in try makeDirectory(of: entry) }
        var moved: [TaskPath] = []
        do throws(FolderError) {
            for item in items {
                let target = directory + "/" + item.path.name
                let copied = try translating { () throws(SystemError) in
                    try disk.move(item.path.string, to: target, .exclusive)
                }
                moved.append(item.path)
                // An edit between the first look and the rename: the file goes back.
                if case .stamp(let expected) = item.expecting {
                    let status = try translating { () throws(SystemError) in
                        if let copied { copied.original } else { try disk.status(target) }
                    }
                    guard FileStamp(status).hasContent(of: expected) else {
                        takeBack(moved, from: directory)
                        return .changed(item.path, FileStamp(status))
                    }
                }
            }
        } catch {
            takeBack(moved, from: directory)
            guard error.code == .notFound, let item = items.first(where: { !moved.contains($0.path) }) else {
                throw error
            }
            return .changed(item.path, nil)
        }
        try translating { () throws(SystemError) in
            try disk.synchronizeDirectory(directory)
            for parent in Set(items.map(\.path.parent)) { try disk.synchronizeDirectory(parent.string) }
        }
        return .trashed(entry)
    }

    /// The directory of an entry, with the way back of what is to come into it.
    private func makeDirectory(of entry: TrashEntry) throws(SystemError) -> String {
        let directory = Self.path + "/" + entry.name
        try disk.makeDirectories(directory)
        let lines = entry.origins.map { $0.string + "\n" }.joined()
        let temporary = try disk.writeTemporary(
            in: directory, Array(lines.utf8), mode: nil, attributes: [], synchronize: true)
        try disk.rename(temporary, to: directory + "/" + Self.origins, .exclusive)
        try disk.synchronizeDirectory(directory)
        try disk.synchronizeDirectory(Self.path)
        return directory
    }

    /// Moves a file that another one has replaced, and that has a temporary name since, to the
    /// trash; false where that fails.
    func take(replaced temporary: String, of path: TaskPath) -> Bool {
        do throws(SystemError) {
            let directory = try makeDirectory(of: TrashEntry(name: nextName(), origins: [path]))
            try disk.rename(temporary, to: directory + "/" + path.name, .exclusive)
            return true
        } catch {
            return false
        }
    }

    /// The file system's clock gives the same time to entries of one tick, so the name has the order.
    func nextName() -> String {
        let number = String(numbers.next(), radix: 16)
        return String(repeating: "0", count: 8 - number.utf8.count) + number + "-" + disk.uniqueName()
    }

    private func refusal(of item: TrashItem) throws(FolderError) -> TrashOutcome? {
        guard let status = try disk.statusIfPresent(item.path) else { return .changed(item.path, nil) }
        guard status.kind == .file || status.kind == .directory else {
            throw FolderError(.wrongKind, "\(item.path) is neither a file nor a directory")
        }
        switch item.expecting {
        case .anything: return nil
        case .absent: return .changed(item.path, FileStamp(status))
        case .stamp(let stamp):
            return FileStamp(status) == stamp ? nil : .changed(item.path, FileStamp(status))
        }
    }

    /// Moves items back out of the trash. An item whose name is taken meanwhile stays there, so that
    /// nothing is lost.
    private func takeBack(_ moved: [TaskPath], from directory: String) {
        var isEmpty = true
        for path in moved {
            do throws(SystemError) {
                try disk.rename(directory + "/" + path.name, to: path.string, .exclusive)
            } catch {
                isEmpty = false
            }
        }
        if isEmpty { try? disk.removeTree(directory) }
    }

    /// The entries, oldest first.
    func entries() throws(FolderError) -> [TrashEntry] {
        var found: [(time: FileTime, name: String)] = []
        do throws(SystemError) {
            _ = try disk.visit(Self.path, watching: false, wantsStatus: { $0.invalidBytes == nil }) { entry, status in
                if let status, status.kind == .directory { found.append((status.modified, entry.name)) }
            }
        } catch {
            if error.code == .notFound { return [] }
            throw FolderError(error)
        }
        found.sort { ($0.time, $0.name) < ($1.time, $1.name) }
        return found.map { TrashEntry(name: $0.name, origins: origins(of: $0.name)) }
    }

    /// None where the file is damaged: such an entry can only be purged, or moved by hand.
    private func origins(of name: String) -> [TaskPath] {
        guard let reading = try? disk.read(Self.path + "/" + name + "/" + Self.origins, limit: 1 << 20),
            let text = String(validating: reading.bytes, as: UTF8.self)
        else { return [] }
        return text.split(separator: "\n").compactMap { try? TaskPath(String($0)) }
    }

    /// The files in the last directory of an entry.
    func files(of entry: TrashEntry) throws(FolderError) -> [(name: String, stamp: FileStamp)] {
        guard let directory = try lastDirectory(of: entry) else { return [] }
        var found: [(name: String, stamp: FileStamp)] = []
        do throws(SystemError) {
            _ = try disk.visit(directory, watching: false, wantsStatus: { $0.invalidBytes == nil }) { entry, status in
                guard let status, status.kind == .file, NameProblem(of: entry.name) == nil else { return }
                found.append((entry.name, FileStamp(status)))
            }
        } catch {
            if error.code == .notFound { return [] }
            throw FolderError(error)
        }
        return found.sorted { $0.name < $1.name }
    }

    /// Moves a file of an entry to `target`; false if there is none, or something is at `target`.
    func restore(_ entry: TrashEntry, _ name: String, to target: TaskPath) throws(FolderError) -> Bool {
        if let problem = NameProblem(of: name) { throw FolderError(.invalidName, problem.description) }
        guard let directory = try lastDirectory(of: entry) else { return false }
        let source = directory + "/" + name
        guard try disk.statusIfPresent(TaskPath(unchecked: source))?.kind == .file else { return false }
        try disk.makeDirectory(target.parent)
        guard try disk.renameExclusively(source, to: target.string).isDone else { return false }
        try translating { () throws(SystemError) in try disk.synchronizeDirectory(target.parent.string) }
        return true
    }

    /// Puts missing files back that had been saved since; see `TaskFolder.takeBackFromTrash`.
    func takeBack(_ missing: [TaskPath: FileStamp]) throws(FolderError) -> [TaskPath] {
        guard !missing.isEmpty else { return [] }
        // By the name of what is in it, as its directory may have got another one since.
        var entries: [ExactText: [TrashEntry]] = [:]
        for entry in try self.entries() {
            for origin in entry.origins { entries[ExactText(origin.name), default: []].append(entry) }
        }
        return missing.keys.sorted().filter { path in
            guard let known = missing[path], let there = entries[ExactText(path.name)] else { return false }
            // What cannot be put back, as where its directory has gone, is safe where it is.
            return there.reversed().contains { (try? takeBack(path, unlike: known, from: $0)) == true }
        }
    }

    private func takeBack(
        _ path: TaskPath, unlike known: FileStamp, from entry: TrashEntry
    ) throws(FolderError) -> Bool {
        let trashed = TaskPath(unchecked: try directory(of: entry) + "/" + path.name)
        guard let status = try disk.statusIfPresent(trashed), status.kind == .file else { return false }
        let stamp = FileStamp(status)
        // An item that was moved in its known state has an identifier; one that a program has just put in
        // its place has none.
        let isUnmarked = try disk.mark(of: trashed) == nil && disk.keepsIdentifiers
        // Copied there from another file system it has another inode.
        let isCopy = (stamp.size, stamp.modified) == (known.size, known.modified)
        let isNews = stamp.isFile(of: known) ? !stamp.hasContent(of: known) : isUnmarked && !isCopy
        guard isNews, try disk.renameExclusively(trashed.string, to: path.string).isDone else { return false }
        try disk.synchronizeMove(trashed, to: path)
        return true
    }

    private func lastDirectory(of entry: TrashEntry) throws(FolderError) -> String? {
        guard let origin = entry.origins.last else { return nil }
        return try directory(of: entry) + "/" + origin.name
    }

    /// Deletes an entry for good.
    func purge(_ entry: TrashEntry) throws(FolderError) {
        let directory = try directory(of: entry)
        try translating { () throws(SystemError) in try disk.removeTree(directory) }
    }

    private func directory(of entry: TrashEntry) throws(FolderError) -> String {
        if let problem = NameProblem(of: entry.name) { throw FolderError(.invalidName, problem.description) }
        return Self.path + "/" + entry.name
    }
}

/// Numbers the entries that one process puts into the trash.
final class TrashNumbers: Sendable {
    private let last = Atomic<UInt32>(0)

    func next() -> UInt32 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

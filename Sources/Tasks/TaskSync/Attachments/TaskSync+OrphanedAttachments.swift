import DocumentClient
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// The attachments of a task at the time when its file was deleted, in an entry of the local trash.
/// Those that were not uploaded by then exist nowhere else, and are restored with the task.
struct OrphanedAttachments: Sendable, Equatable {
    /// A version of a file that the server has: a file with another size or time is another
    /// version.
    struct Version: Sendable, Equatable {
        let size: Int64
        let modified: FileTime

        init(_ stamp: FileStamp) { (size, modified) = (stamp.size, stamp.modified) }

        /// Parses three words; nil if they are not a version.
        init?(saved words: ArraySlice<Substring>) {
            let words = Array(words)
            guard words.count == 3, let size = Int64(words[0]), let seconds = Int64(words[1]),
                let nanoseconds = Int32(words[2])
            else { return nil }
            (self.size, modified) = (size, FileTime(seconds: seconds, nanoseconds: nanoseconds))
        }

        var saved: String { "\(size) \(modified.seconds) \(modified.nanoseconds)" }
    }

    /// The entry of the local trash.
    let entry: TrashEntry
    /// The versions that the server had, by name.
    let told: [ExactText: Version]

    init(entry: TrashEntry, told: [ExactText: Version]) {
        self.entry = entry
        self.told = told
    }

    /// Parses the saved text: a line for the entry, one for the directory of the files, and one for
    /// each version that the server had. Nil for any other text. No name contains a line break.
    init?(saved text: String) {
        let lines = text.split(separator: "\n")
        guard lines.count >= 2, let directory = try? TaskPath(String(lines[1])) else { return nil }
        var told: [ExactText: Version] = [:]
        for line in lines.dropFirst(2) {
            let words = line.split(separator: " ", maxSplits: 3)
            guard words.count == 4, let version = Version(saved: words[..<3]) else { return nil }
            told[ExactText(String(words[3]))] = version
        }
        self.init(entry: TrashEntry(name: String(lines[0]), origins: [directory]), told: told)
    }

    var saved: String {
        let files = told.sorted { $0.key.string < $1.key.string }.map { name, version in
            "\(version.saved) \(name.string)"
        }
        return ([entry.name] + entry.origins.map(\.string) + files).joined(separator: "\n")
    }
}

extension TaskSync {
    /// Moves the attachments of a task's file to the local trash, alone or together with the file,
    /// and remembers them.
    func trashBeside(_ task: TaskID, _ path: TaskPath, with file: TrashItem? = nil) async throws -> TrashOutcome? {
        var items = file.map { [$0] } ?? []
        let name = folder.nextTrashName()
        if let directory = try? path.attachmentsDirectory(), (try? folder.hasDirectory(directory)) == true {
            items.append(TrashItem(path: directory, expecting: .anything))
            let rows = attachments.rows(of: task).values.map {
                (ExactText($0.name), OrphanedAttachments.Version($0.stamp))
            }
            let left = OrphanedAttachments(
                entry: TrashEntry(name: name, origins: [directory]), told: Dictionary(rows) { $1 })
            try await client.transaction { try SyncTables($0).setOrphans(left, of: task) }
            orphanedAttachments[task] = left
        }
        return items.isEmpty ? nil : try folder.trash(items, as: name)
    }

    /// Restores the attachments that were not uploaded before their task's file was deleted,
    /// because the file is back. They are uploaded then.
    func bringBackOrphans(of task: TaskID, beside path: TaskPath) async throws {
        guard let left = orphanedAttachments[task], !folder.isAbsent(path) else { return }
        do {
            let target = try path.attachmentsDirectory()
            for (name, stamp) in try folder.trashedFiles(left.entry)
            where left.told[ExactText(name)] != OrphanedAttachments.Version(stamp) {
                for number in 1...99 {
                    let free = number == 1 ? name : Self.fileName(name, number)
                    guard let place = try? target.appending(free) else { break }
                    if try folder.takeFromTrash(left.entry, name, to: place) { break }
                }
            }
            try takeUntrashed(left, to: target)
        } catch {
            retries.insert(task)
            return logger.warning("attachments of \(path) stay in the local trash for now", ["error": "\(error)"])
        }
        try await forgetLeft(of: [task])
    }

    /// Restores the uploaded attachments of a deleted file that is back, from the local trash. The
    /// others are downloaded.
    func bringBack(_ rows: [AttachmentRow], of task: TaskID, beside path: TaskPath) async throws {
        guard let left = orphanedAttachments[task], let target = try? path.attachmentsDirectory() else { return }
        var back: [AttachmentRow] = []
        for var row in rows where left.told[ExactText(row.name)] == OrphanedAttachments.Version(row.stamp) {
            guard let place = try? target.appending(row.name),
                (try? folder.takeFromTrash(left.entry, row.name, to: place)) == true,
                let stamp = try? folder.stamp(place), stamp.hasContent(of: row.stamp)
            else { continue }
            row.stamp = stamp
            back.append(row)
        }
        try await client.transaction { [back] transaction in
            for row in back { try SyncTables(transaction).put(row) }
        }
        for row in back { attachments.set(row) }
    }

    /// Tries again to restore attachments, after a failure such as a full disk.
    func bringBackLeftAgain() async throws {
        for task in orphanedAttachments.keys.sorted() where catalog[task].map({ $0.deletion == nil }) ?? false {
            guard let path = index.path(of: task), index[path]?.stamp != FileStamp.none else { continue }
            try await bringBackOrphans(of: task, beside: path)
        }
    }

    /// Takes back attachments that could not be moved to the trash, for example because the disk
    /// was full. They are at their old place, unless another task owns it now.
    private func takeUntrashed(_ left: OrphanedAttachments, to target: TaskPath) throws(FolderError) {
        guard let directory = left.entry.origins.last, directory != target,
            index[directory.taskFileOfAttachments] == nil, try folder.hasDirectory(directory)
        else { return }
        var files: [TaskPath] = []
        _ = try folder.scan(.look) { file in
            let isTold = left.told[ExactText(file.path.name)] == OrphanedAttachments.Version(file.stamp)
            if file.isAttachment, file.path.parent == directory, !isTold { files.append(file.path) }
        }
        guard !files.isEmpty else { return }
        try makeAttachments(target)
        try moveFiles(files, to: target)
        _ = try folder.removeDirectoryIfEmpty(directory)
    }

    /// Forgets the attachments of tasks that were deleted permanently.
    func forgetLeftOfPurged() async throws {
        try await forgetLeft(of: orphanedAttachments.keys.filter { catalog[$0] == nil })
    }

    private func forgetLeft(of tasks: [TaskID]) async throws {
        guard !tasks.isEmpty else { return }
        try await client.transaction { for task in tasks { try SyncTables($0).setOrphans(nil, of: task) } }
        for task in tasks { orphanedAttachments[task] = nil }
    }
}

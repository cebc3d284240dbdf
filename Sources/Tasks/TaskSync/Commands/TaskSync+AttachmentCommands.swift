import DocumentClient
import DocumentModel
import ObjectStorage
import SQLite
import SystemIO
import SystemService
import TaskFolder
package import TaskModel

extension TaskSync {
    /// Copies files into the task's attachments and queues their uploads: all of them, or none if
    /// one cannot be read or the task has no room for all.
    ///
    /// - Parameter files: Absolute paths, with the names of the attachments; nil for the file's own
    ///   name.
    /// - Returns: The ids of the transfers, in the order of the files.
    package func attach(_ task: TaskID, _ files: [(path: String, name: String?)]) async throws -> [String] {
        guard index.path(of: task) != nil else {
            throw TaskSyncError(.notFound, "The task has no file to put attachments beside.")
        }
        let names = files.map { $0.name ?? FileSystem.split($0.path).name }
        try await checkRoom(for: names, of: task)
        let incoming = files.map { _ in "attach-\(DocumentID.make(in: environment))" }
        var left = Array(files.indices)
        copies.formUnion(incoming)
        defer {
            for file in left { try? folder.removeIncoming(incoming[file]) }
            copies.subtract(incoming)
        }
        let what = names.count == 1 ? names[0] : "\(names.count) files"
        try await activity.during("the copy of \(what)") { [folder, copier] in
            try await copier.run {
                for (file, incoming) in zip(files, incoming) { try Self.copy(file.path, into: incoming, of: folder) }
            }
        }
        return try await withExclusiveAccess {
            guard let directory = try index.path(of: task)?.attachmentsDirectory() else {
                throw TaskSyncError(.notFound, "The task has no file any more to put attachments beside.")
            }
            try makeAttachments(directory)
            var queued = [String?](repeating: nil, count: files.count)
            for number in 1...99 where !left.isEmpty {
                let tried = try left.map { file in
                    let path = try directory.appending(Self.fileName(names[file], number))
                    return IncomingFile(name: incoming[file], path: path, expecting: .absent)
                }
                let results = await offload { [folder] in folder.placeIncoming(tried) }
                var taken: [Int] = []
                for (file, (target, result)) in zip(left, zip(tried, results)) {
                    guard case .written(let stamp) = try result.get() else {
                        taken.append(file)
                        continue
                    }
                    if Self.isPartial(target.path.name) {
                        try await setAttachedPartial(Self.partialKey(task, target.path.name), true)
                    }
                    queued[file] = queueUpload(task, target.path.name, size: stamp.size)
                }
                left = taken
            }
            if let file = left.first {
                throw TaskSyncError(.invalid, "Too many attachments are named like \(names[file]).")
            }
            let transfers = queued.compactMap(\.self)
            guard transfers.count == files.count else {
                throw TaskSyncError(.invalid, "The upload could not be queued.")
            }
            return transfers
        }
    }

    /// Throws if the task's document has no room for these attachments. The server would refuse it
    /// after all the bytes were uploaded.
    private func checkRoom(for names: [String], of task: TaskID) async throws {
        let document = try await self.name(of: task)
        let view = try await client.document(document)
        let waiting = transfers.all.filter {
            $0.task == task && $0.isUpload && $0.attachment == nil && !$0.phase.isOver
        }
        var room = AttachmentRoom(view, userID: configuration.userID)
        room.add(waiting.map(\.name))
        let (used, more) = (room.used, room.size(of: names))
        guard used + more + AttachmentRoom.reserve > DocumentLimits.maximumSize else { return }
        let count = (view["attachments"]?.mapValue?.count ?? 0) + waiting.count
        throw TaskSyncError(
            .tooLarge,
            "The task has no room for \(names.count == 1 ? "another attachment" : "\(names.count) more attachments"): its "
                + "notes and \(count) attachments take \(used) of \(DocumentLimits.maximumSize) bytes, and "
                + "\(names.count == 1 ? "this one" : "these") would take \(more) more.")
    }

    private static func copy(_ path: String, into incoming: String, of folder: any TaskFolder) throws {
        let source = try FileDescriptor(path: path, [.read, .nonBlocking])
        let status = try source.status()
        guard status.kind == .file else { throw TaskSyncError(.invalid, "\(path) is not a regular file.") }
        guard status.size <= Manifest.fileLimit else {
            throw TaskSyncError(
                .tooLarge,
                "\(path) has \(status.size >> 30) GiB; an attachment has \(Manifest.fileLimit >> 30) GiB at most.")
        }
        let target = try folder.openIncoming(incoming)
        do {
            if try !target.clone(from: source) {
                let free = try target.freeBytes()
                guard status.size <= free else {
                    throw TaskSyncError(
                        .noSpace,
                        "\(path) has \(status.size >> 20) MiB, and the disk of the tasks directory has \(free >> 20) MiB left."
                    )
                }
                try StableCopy.copy(source, to: target)
            }
            // Not every file system supports it.
            try? target.setModified(source.status().modified)
            if status.isExecutable { try? target.makeExecutable() }
            // Small files are synchronized to disk together, when they are moved into place.
            if status.size > watchedSize { try target.synchronize() }
        } catch {
            try? folder.removeIncoming(incoming)
            throw error
        }
    }

    /// Removes an attachment by id or name, on all machines. It is in the trash afterwards.
    package func detach(_ task: TaskID, attachment: String) async throws {
        try await withExclusiveAccess {
            let item = try await detail(task).item
            guard let (id, _) = item.attachment(meantBy: attachment) else {
                throw TaskSyncError(.notFound, "The task has no attachment '\(attachment)'.")
            }
            try await setAttachment(id, of: task, to: nil, as: .attachment)
            try await exportChanges()
        }
    }

    /// Keeps all attachments of a task on this machine from now on, including later ones and
    /// regardless of their sizes; or ends that, which removes no file.
    ///
    /// - Returns: The ids of the downloads of those that are not here.
    package func setPinned(_ task: TaskID, _ isPinned: Bool) async throws -> [String] {
        try await withExclusiveAccess {
            guard catalog[task] != nil else { throw TaskSyncError(.notFound, "There is no task \(task).") }
            var all = pinned.filter { catalog[$0] != nil }
            if isPinned { all.insert(task) } else { all.remove(task) }
            let text = all.map(\.rawValue).sorted().joined(separator: "\n")
            try await client.transaction { try SyncTables($0).setState("pinned", text) }
            pinned = all
            guard isPinned else { return [] }
            await exportAttachments(of: try await client.document(try await name(of: task)))
            return transfers.all.filter { $0.task == task && !$0.isUpload && !$0.phase.isOver }.map(\.id)
        }
    }

    /// Starts the download of an attachment, unless it has started.
    ///
    /// - Returns: The id of the transfer; nil if the file is here.
    package func fetch(_ task: TaskID, attachment: String) async throws -> String? {
        let item = try await detail(task).item
        guard let (id, file) = item.attachment(meantBy: attachment) else {
            throw TaskSyncError(.notFound, "The task has no attachment '\(attachment)'.")
        }
        if attachments.rows(of: task)[id]?.sha256 == file.sha256 { return nil }
        return try await withExclusiveAccess { queueDownload(task, id, file, isAsked: true) }
    }
}

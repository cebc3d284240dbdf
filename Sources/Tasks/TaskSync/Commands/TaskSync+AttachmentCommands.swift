import DocumentClient
import DocumentModel
import ObjectStorage
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

extension TaskSync {
    /// Copies a file into the task's attachments and queues its upload. Answers the transfer's id.
    ///
    /// - Parameters:
    ///   - path: absolute.
    ///   - name: nil for the file's own.
    package func attach(_ task: String, path: String, name: String?) async throws -> String {
        guard let taskFile = index.path(of: task) else {
            throw TaskSyncError(.notFound, "The task has no file to put attachments beside.")
        }
        let wanted = name ?? FileSystem.split(path).name
        try await checkRoom(for: wanted, of: task)
        let (folder, copier) = (folder, copier)
        let incoming = "attach-\(DocumentID.make(in: surroundings))"
        try await activity.during("the copy of \(wanted)") {
            try await copier.run { try Self.copy(path, into: incoming, of: folder) }
        }
        var isPlaced = false
        defer { if !isPlaced { try? folder.removeIncoming(incoming) } }
        return try await exclusively {
            let directory = try taskFile.attachmentsDirectory()
            try folder.makeDirectory(directory)
            for number in 1...99 {
                let target = try directory.appending(Self.fileName(wanted, number))
                guard case .written(let stamp) = try folder.placeIncoming(incoming, at: target, expecting: .absent)
                else {
                    continue
                }
                isPlaced = true
                if Self.isPartial(target.name) {
                    try await setAttachedPartial(Self.partialKey(task, target.name), true)
                }
                guard let transfer = queueUpload(task, target.name, size: stamp.size) else {
                    throw TaskSyncError(.invalid, "The upload could not be queued.")
                }
                return transfer
            }
            throw TaskSyncError(.invalid, "Too many attachments are named like \(wanted).")
        }
    }

    /// Refuses what the task's document would have no room for: the remote would park it after all the bytes have travelled.
    private func checkRoom(for name: String, of task: String) async throws {
        let document = try await self.name(of: task)
        let fields = try await client.document(document).fields
        let waiting = transfers.all.filter {
            $0.task == task && $0.isUpload && $0.attachment == nil && !$0.phase.isOver
        }
        // As it will be, with who attached it and when.
        let digest = String(repeating: "0", count: 64)
        let sample = TaskAttachment(
            name: name, mimeType: "application/octet-stream", size: 0, sha256: digest,
            manifest: "\(configuration.userID)/manifests/00/\(digest)", createdTime: Timestamp(microseconds: 0))
        let id = DocumentID.make(in: surroundings)
        let entry: [String: Value] = [
            id: sample.value, "attachments.\(id)": .map(["by": .string(id), "time": .timestamp(.distantPast)]),
        ]
        let empty = DocumentLimits.size(of: document, fields: [:])
        let size = DocumentLimits.size(of: document, fields: entry) - empty
        let used = DocumentLimits.size(of: document, fields: fields) + waiting.count * size
        guard used + size > DocumentLimits.maximumSize else { return }
        let count = (fields["attachments"]?.mapValue?.count ?? 0) + waiting.count
        throw TaskSyncError(
            .tooLarge,
            "The task has no room for another attachment: its notes and \(count) attachments take \(used) of "
                + "\(DocumentLimits.maximumSize) bytes, and this one would take \(size) more.")
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
            if try target.clone(from: source) { return }
            let free = try target.freeBytes()
            guard status.size <= free else {
                throw TaskSyncError(
                    .noSpace,
                    "\(path) has \(status.size >> 20) MiB, and the disk of the tasks directory has \(free >> 20) MiB left."
                )
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
            defer { buffer.deallocate() }
            var window = PageWindow()
            var offset: Int64 = 0
            while case let count = try source.read(into: buffer, at: offset), count > 0 {
                try target.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
                offset += Int64(count)
                try window.hasWritten(upTo: offset, of: target)
            }
            try target.synchronize()
        } catch {
            try? folder.removeIncoming(incoming)
            throw error
        }
    }

    /// Removes an attachment by id or name, here and everywhere.
    package func detach(_ task: String, attachment: String) async throws {
        try await exclusively {
            let item = try await detail(task).item
            guard let (id, _) = item.attachments.first(where: { $0.key == attachment || $0.value.name == attachment })
            else {
                throw TaskSyncError(.notFound, "The task has no attachment '\(attachment)'.")
            }
            try await removeAttachment(id, of: task)
            try await exportChanges()
        }
    }

    /// Keeps all attachments of a task here from now on, also those that are still to come and whatever this machine takes
    /// otherwise; or does so no longer, which takes nothing away. Answers the transfers that bring what is not here.
    package func setPinned(_ task: String, _ isPinned: Bool) async throws -> [String] {
        try await exclusively {
            guard catalog[task] != nil else { throw TaskSyncError(.notFound, "There is no task \(task).") }
            var all = pinned.filter { catalog[$0] != nil }
            if isPinned { all.insert(task) } else { all.remove(task) }
            let text = all.sorted().joined(separator: "\n")
            try await client.transaction { try SyncTables($0).setState("pinned", text) }
            pinned = all
            guard isPinned else { return [] }
            await exportAttachments(of: try await client.document(try await name(of: task)))
            return transfers.all.filter { $0.task == task && !$0.isUpload && !$0.phase.isOver }.map(\.id)
        }
    }

    /// The transfer that brings an attachment here, begun if there is none; nil when the file is here.
    package func fetch(_ task: String, attachment: String) async throws -> String? {
        let item = try await detail(task).item
        guard let (id, file) = item.attachments.first(where: { $0.key == attachment || $0.value.name == attachment })
        else {
            throw TaskSyncError(.notFound, "The task has no attachment '\(attachment)'.")
        }
        if attachments.rows(of: task)[id]?.sha256 == file.sha256 { return nil }
        return try await exclusively { queueDownload(task, id, file) }
    }
}

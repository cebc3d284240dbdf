import DocumentClient
import SQLite
import SystemIO
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
        let (folder, copier) = (folder, copier)
        let incoming = "attach-\(DocumentID.make(in: surroundings))"
        try await copier.run { try Self.copy(path, into: incoming, of: folder) }
        return try await exclusively {
            let directory = try taskFile.attachmentsDirectory()
            try folder.makeDirectory(directory)
            for number in 1...99 {
                let target = try directory.appending(Self.fileName(wanted, number))
                guard case .written(let stamp) = try folder.placeIncoming(incoming, at: target, expecting: .absent)
                else {
                    continue
                }
                if Self.isPartial(target.name) {
                    try await setAttachedPartial(Self.partialKey(task, target.name), true)
                }
                guard let transfer = queueUpload(task, target.name, size: stamp.size) else {
                    throw TaskSyncError(.invalid, "The upload could not be queued.")
                }
                return transfer
            }
            try folder.removeIncoming(incoming)
            throw TaskSyncError(.invalid, "Too many attachments are named like \(wanted).")
        }
    }

    private static func copy(_ path: String, into incoming: String, of folder: any TaskFolder) throws {
        let source = try FileDescriptor(path: path, [.read, .nonBlocking])
        guard try source.status().kind == .file else {
            throw TaskSyncError(.invalid, "\(path) is not a regular file.")
        }
        let target = try folder.openIncoming(incoming)
        do {
            if try target.clone(from: source) { return }
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

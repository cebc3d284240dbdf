import Cryptography
import DocumentClient
import DocumentModel
import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// Puts downloaded files into their places.
extension TaskSync {
    /// Creates the directory of a task's attachments, but not its list's directory: if that is
    /// missing, a new one would be taken for it.
    func makeAttachments(_ directory: TaskPath) throws(FolderError) {
        guard !folder.isAbsent(directory.parent) else {
            throw FolderError(
                .notFound, "\(directory.parent) is not there: it was moved or removed, and is not found elsewhere yet")
        }
        guard !isReplaced(directory.parent) else {
            changes.askForScan()
            throw FolderError(.notFound, "\(directory.parent) is another directory than before")
        }
        try folder.makeDirectory(directory)
    }

    /// Moves downloaded and verified files into place.
    func place(_ downloads: [(transfer: FinishedTransfer, incoming: String)]) async {
        guard !downloads.isEmpty else { return }
        let wanted = await wantedAttachments(of: downloads.compactMap { transfers[$0.transfer.id] })
        var left: [(transfer: FinishedTransfer, incoming: String, directory: TaskPath)] = []
        for (transfer, incoming) in downloads {
            do {
                let wanted = try wanted.get()
                guard let known = transfers[transfer.id], let taskFile = index.path(of: known.task),
                    wanted[known.task]?[known.attachment ?? ""] == .some(known.sha256)
                else {
                    // The task is gone, or the attachment was removed or has another version now.
                    try folder.removeIncoming(incoming)
                    end(transfer.id, .cancelled)
                    continue
                }
                // A run that was interrupted before it wrote the file may write it elsewhere now.
                guard index[taskFile]?.stamp != FileStamp.none else {
                    throw FolderError(.notFound, "\(taskFile) is still to be written")
                }
                let directory = try taskFile.attachmentsDirectory()
                if left.last?.directory != directory { try makeAttachments(directory) }
                left.append((transfer, incoming, directory))
            } catch {
                failed(transfer.id, transfer.run, error)
            }
        }
        var rows: [(transfer: FinishedTransfer, row: AttachmentRow)] = []
        // If a name is taken, others are tried. A new version has the name of the file that it
        // replaces.
        for number in 0...99 where !left.isEmpty {
            var tried: [(transfer: FinishedTransfer, incoming: String, directory: TaskPath)] = []
            var taken: [(FinishedTransfer, String, TaskPath)] = []
            var files: [IncomingFile] = []
            for item in left {
                let known = transfers[item.transfer.id]
                let old = known.flatMap { attachments.rows(of: $0.task)[$0.attachment ?? ""] }
                let name = number == 0 ? old?.name ?? "" : Self.fileName(known?.name ?? "", number)
                let isOwn = old?.name.utf8.elementsEqual(name.utf8) == true
                if number == 0, !isOwn {
                    taken.append(item)
                    continue
                }
                // The name of another attachment whose file is gone, which is still to be reported.
                if !isOwn, let known, attachments.row(of: known.task, named: name) != nil {
                    taken.append(item)
                    continue
                }
                tried.append(item)
                let path = (try? item.directory.appending(name)) ?? item.directory
                let expectation = isOwn ? old.map { FileExpectation.stamp(stamp(of: $0, at: path)) } : nil
                files.append(
                    IncomingFile(
                        name: item.incoming, path: path, expecting: expectation ?? .absent,
                        isExecutable: known?.isExecutable ?? false,
                        trashesReplaced: (old?.stamp.size ?? .max) <= Self.trashedSize))
            }
            let results = await offload { [folder, files] in folder.placeIncoming(files) }
            for ((item, file), result) in zip(zip(tried, files), results) {
                switch result {
                case .success(.written(let stamp)):
                    guard let known = transfers[item.transfer.id], let id = known.attachment else { continue }
                    rows.append(
                        (
                            item.transfer,
                            AttachmentRow(
                                task: known.task, attachment: id, name: file.path.name, sha256: known.sha256 ?? "",
                                content: known.contentKey, marks: item.transfer.marks, stamp: stamp)
                        ))
                case .success(.changed), .success(.overtaken):
                    if let row = await existing(file.path, for: item.transfer) {
                        rows.append((item.transfer, row))
                        try? folder.removeIncoming(item.incoming)
                    } else {
                        taken.append(item)
                    }
                case .failure(let error): failed(item.transfer.id, item.transfer.run, error)
                }
            }
            left = taken
        }
        for item in left {
            let error = FolderError(.exists, "\(item.directory): too many files are named like this one.")
            failed(item.transfer.id, item.transfer.run, error)
        }
        guard !rows.isEmpty else { return }
        do {
            let placed = rows.map(\.row)
            try await client.transaction { transaction in
                let tables = SyncTables(transaction)
                for row in placed { try tables.put(row) }
                try Self.removeMarks(placed, transaction)
            }
            for (transfer, row) in rows {
                attachments.set(row)
                end(transfer.id, .done)
            }
            for task in Set(placed.map(\.task)) {
                let fields = try await client.document(try await name(of: task)).fields(pendingTimes: .previous)
                try await renameAttachments(of: task, TaskItem.attachments(in: fields))
            }
        } catch {
            for (transfer, _) in rows { failed(transfer.id, transfer.run, error) }
        }
    }

    /// The size in bytes up to which files that other machines replace go to the local trash, from
    /// where they can be restored without the network.
    private static let trashedSize: Int64 = 16 << 20

    /// Returns the SHA-256 of each attachment that the tasks have now, by task and id. Each
    /// document is read once for all of its downloads.
    private func wantedAttachments(
        of transfers: [Transfer]
    ) async -> Result<[TaskID: [AttachmentID: String?]], any Error> {
        let ids = Dictionary(grouping: transfers, by: \.task).mapValues { $0.compactMap(\.attachment) }
        do {
            return .success(
                try await client.reading { transaction in
                    var wanted: [TaskID: [AttachmentID: String?]] = [:]
                    for (task, ids) in ids {
                        let fields = try transaction.task(task).fields(pendingTimes: .previous)
                        let present = TaskItem.attachments(in: fields)
                        for id in ids {
                            guard let attachment = present[id.rawValue].flatMap({ TaskAttachment($0) }) else {
                                continue
                            }
                            wanted[task, default: [:]].updateValue(attachment.sha256, forKey: id)
                        }
                    }
                    return wanted
                })
        } catch {
            return .failure(error)
        }
    }

    /// Returns the row of a downloaded file that is in place already: it was put there before a
    /// crash, or remains from a state that was lost.
    private func existing(_ path: TaskPath, for transfer: FinishedTransfer) async -> AttachmentRow? {
        guard let known = transfers[transfer.id], let id = known.attachment, let sha256 = known.sha256,
            attachments.row(of: known.task, named: path.name).map({ $0.attachment == id }) ?? true,
            let stamp = try? folder.stamp(path), stamp.size == known.size,
            let absolute = try? folder.absolutePath(of: path),
            let found = await offload({ try? Self.hash(ofFile: absolute) }), found.hex == sha256,
            let after = try? folder.stamp(path), after.hasContent(of: stamp)
        else { return nil }
        return AttachmentRow(
            task: known.task, attachment: id, name: path.name, sha256: sha256, content: known.contentKey,
            marks: transfer.marks, stamp: after)
    }

    private static func hash(ofFile path: String) throws -> SHA256Digest {
        let file = try FileDescriptor(path: path, [.read, .nonBlocking])
        var hash = SHA256()
        var offset: Int64 = 0
        while case let part = try file.read(1 << 20, at: offset), !part.isEmpty {
            hash.update(part)
            offset += Int64(part.count)
        }
        return hash.finish()
    }
}

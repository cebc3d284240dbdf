import DocumentClient
import DocumentModel
import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// Attachments: the files in `X.files` and the `attachments` of documents.
extension TaskSync {
    // MARK: From files

    /// An attachment's file is there or has changed.
    func noteAttachment(_ path: TaskPath, _ known: FileStamp? = nil) async {
        guard let stamp = known ?? (try? folder.stamp(path)) ?? nil else { return }
        guard let entry = index[path.taskFileOfAttachments] else {
            attachments.note(orphan: path)
            return
        }
        let row = attachments.row(of: entry.task, named: path.name)
        if let row, row.stamp.hasContent(of: stamp) { return }
        // It gets its real name when it is complete.
        if row == nil, Self.isPartial(path.name) { return }
        queueUpload(entry.task, path.name, size: stamp.size)
    }

    /// Whether a file's name is one that browsers and editors give to what they have not finished.
    static func isPartial(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".part", ".partial", ".crdownload", "~"].contains { name.hasSuffix($0) }
    }

    func noteAttachments(of task: String, at path: TaskPath) async {
        for orphan in attachments.takeOrphans(of: path) { await noteAttachment(orphan) }
    }

    /// A directory of attachments has a new name; what is in it belongs to another task now.
    func noteAttachments(beneath directory: TaskPath) async {
        var found: [ScannedFile] = []
        _ = try? folder.scan(puttingAsideLeftovers: false) { if $0.path.isBeneath(directory) { found.append($0) } }
        for file in found { await noteAttachment(file.path, file.stamp) }
    }

    /// Files of attachments that a scan did not find, where it could have seen them.
    func noteMissingAttachments(_ scan: FolderScan, found: [ScannedFile]) async {
        let present = Set(found.lazy.filter(\.isAttachment).map(\.path))
        let missing = attachments.all.compactMap { path(of: $0) }.filter {
            !present.contains($0) && scan.isAbsenceBelievable($0)
        }
        if !missing.isEmpty { changes.noteMissing(missing) }
    }

    /// The user removed an attachment's file: it is detached.
    func attachmentRemoved(_ path: TaskPath) async throws {
        guard let entry = index[path.taskFileOfAttachments], held[entry.task] == nil,
            let row = attachments.row(of: entry.task, named: path.name), folder.isAbsent(path)
        else { return }
        try await detach(row)
    }

    private func detach(_ row: AttachmentRow) async throws {
        try await client.transaction { try SyncTables($0).remove(attachment: row.attachment, of: row.task) }
        attachments.remove(row.attachment, of: row.task)
        try await removeAttachment(row.attachment, of: row.task)
    }

    /// Takes an attachment out of its task's document.
    func removeAttachment(_ attachment: String, of task: String) async throws {
        try await client.transaction { transaction in
            let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: task)
            let path = FieldPath(key: "attachments").appending(attachment)
            guard try transaction.document(name)[path] != nil else { return }
            try transaction.append(
                .merge(
                    name, [path: nil], transforms: [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)]
                ).signed(by: transaction.replicaID))
        }
    }

    /// Where an attachment's file is.
    func path(of row: AttachmentRow) -> TaskPath? {
        guard let file = index.path(of: row.task) else { return nil }
        return try? file.attachmentsDirectory().appending(row.name)
    }

    // MARK: From documents

    /// Queues what a document has and this machine lacks; takes away what others have detached.
    func exportAttachments(of view: DocumentSnapshot) async {
        let task = view.name.id
        let item = TaskItem(fields: view.fields(pendingTimes: .previous))
        guard view.exists, !item.isDeleted else { return }
        let rows = attachments.rows(of: task)
        for (id, attachment) in item.attachments where rows[id]?.sha256 != attachment.sha256 {
            // What was here once is wanted here.
            if rows[id] == nil, let limit = configuration.downloadsUpTo, attachment.size ?? 0 > limit { continue }
            queueDownload(task, id, attachment)
        }
        for (id, row) in rows where item.attachments[id] == nil { await removeDetached(row) }
    }

    private func removeDetached(_ row: AttachmentRow) async {
        guard let path = path(of: row) else { return }
        let outcome = try? folder.trash([TrashItem(path: path, expecting: .stamp(row.stamp))])
        if case .changed(_, let stamp?)? = outcome {
            // It was changed here meanwhile: the edit survives, as a new attachment.
            attachments.remove(row.attachment, of: row.task)
            queueUpload(row.task, row.name, size: stamp.size)
        }
        attachments.remove(row.attachment, of: row.task)
        try? await client.transaction { try SyncTables($0).remove(attachment: row.attachment, of: row.task) }
        _ = try? folder.removeDirectoryIfEmpty(path.parent)
    }

    // MARK: Done

    /// An upload has stored a file: its task says so, if the file is still the one that was stored.
    func uploaded(_ transfer: Transfer, _ file: UploadedFile, _ stamp: FileStamp) async throws {
        guard let taskFile = index.path(of: transfer.task),
            let path = try? taskFile.attachmentsDirectory().appending(transfer.name),
            let now = try? folder.stamp(path), now.hasContent(of: stamp)
        else { return }
        let manifest = try ObjectNamespace(user: configuration.userID).manifest(file.manifest).description
        let newID = DocumentID.make(in: surroundings)
        let row = try await client.transaction { transaction -> AttachmentRow? in
            let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: transfer.task)
            let view = try transaction.document(name)
            guard view.exists else { return nil }
            let present = TaskItem(fields: view.fields(pendingTimes: .previous)).attachments
            let sameName = present.first { $0.value.name.utf8.elementsEqual(transfer.name.utf8) }
            let id = transfer.attachment ?? sameName?.key ?? newID
            let row = AttachmentRow(
                task: transfer.task, attachment: id, name: transfer.name, sha256: file.sha256.hex, stamp: now)
            try SyncTables(transaction).put(row)
            guard present[id]?.sha256 != row.sha256 else { return row }
            let attachment = TaskAttachment(
                name: transfer.name, mimeType: "\(file.type)", size: file.size, sha256: row.sha256, manifest: manifest)
            let element = FieldPath(key: "attachments").appending(id)
            try transaction.append(
                .merge(
                    name, [element: attachment.value],
                    transforms: [
                        FieldTransform(element.appending("createdTime"), .serverTimestamp),
                        FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp),
                    ]
                ).signed(by: transaction.replicaID))
            return row
        }
        if let row { attachments.set(row) }
    }

    /// Puts a downloaded, verified file into its place. Answers its row; nil: the task is gone.
    func place(_ transfer: Transfer, incoming: String) async throws -> AttachmentRow? {
        guard let id = transfer.attachment, let taskFile = index.path(of: transfer.task) else {
            try folder.removeIncoming(incoming)
            return nil
        }
        let directory = try taskFile.attachmentsDirectory()
        try folder.makeDirectory(directory)
        let old = attachments.rows(of: transfer.task)[id]
        for number in 1...99 {
            let path = try directory.appending(Self.fileName(transfer.name, number))
            let isOwn = old?.name.utf8.elementsEqual(path.name.utf8) == true
            let expectation: FileExpectation = isOwn ? old.map { .stamp($0.stamp) } ?? .absent : .absent
            guard case .written(let stamp) = try folder.placeIncoming(incoming, at: path, expecting: expectation) else {
                continue
            }
            let row = AttachmentRow(
                task: transfer.task, attachment: id, name: path.name, sha256: transfer.sha256 ?? "", stamp: stamp)
            try await client.transaction { try SyncTables($0).put(row) }
            attachments.set(row)
            return row
        }
        throw FolderError(.exists, "\(directory): too many files are named like \(transfer.name).")
    }

    /// A name from elsewhere as a file's name: no path, not hidden, not too long; `name (2).ext` where the first is taken.
    static func fileName(_ name: String, _ number: Int) -> String {
        let safe = TaskFileName.folder(for: name).name
        let visible = TaskPath.isIgnored(safe) ? "\(safe)-" : safe
        guard number > 1 else { return visible }
        guard let dot = visible.lastIndex(of: "."), dot > visible.startIndex else { return "\(visible) (\(number))" }
        return "\(visible[..<dot]) (\(number))\(visible[dot...])"
    }
}

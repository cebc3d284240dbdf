import Cryptography
import DocumentClient
import DocumentModel
import Merge
import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// A transfer whose bytes are in place but which is not recorded yet.
struct FinishedTransfer: Sendable {
    enum Content: Sendable {
        /// The file is in the store. The stamp is the one that it had when its upload began.
        case upload(UploadedFile, FileStamp)
        /// The file is complete, verified and on the disk, as an incoming file of this name. The
        /// fingerprints are those of its chunks.
        case download(incoming: String, ChunkFingerprints?)
    }

    let id: String
    /// The run of the transfer that finished.
    let run: Int
    let content: Content

    var marks: ChunkFingerprints? {
        switch content {
        case .upload(let file, _): file.marks
        case .download(_, let marks): marks
        }
    }
}

/// Records finished transfers together: while one turn writes, more transfers finish, and the next
/// turn records all of those. So a thousand small files cost a few writes of their task's document
/// instead of a thousand.
extension TaskSync {
    /// The maximum number of attachments in one write. Each takes a transform for its time, and a
    /// write has at most 500 of them.
    private static let attachmentsPerWrite = 490

    /// The number of finished transfers that are recorded without waiting for more; a task with more
    /// attachments waits for as many as it has. Other machines can start to download then, and the
    /// cost grows linearly with the number of files instead of quadratically.
    private static let attachmentsToTell = 200

    /// Returns the time for which a finished transfer waits for others that are in progress. Each
    /// write costs the server and every machine as much as the whole document, so the time grows
    /// with the number of the task's attachments.
    private func gatheringTime(of task: TaskID) -> Duration {
        min(.milliseconds(400) + .milliseconds(1) * attachments.rows(of: task).count, .seconds(2))
    }

    func noteFinished(_ transfer: FinishedTransfer, _ snapshot: TransferSnapshot) {
        if isCurrent(transfer) {
            transfers.change(transfer.id) {
                $0.snapshot = snapshot
                $0.isStored = true
            }
        }
        stored.append(transfer)
        startQueued()
        if transfers.isAtRest || stored.count == enoughToTell(of: transfer) {
            // The task ends with its turn, and does not keep the bridge alive.
            Task { [weak self] in try? await self?.recordFinishedTransfers() }
        } else {
            scheduleRecording()
        }
    }

    private func enoughToTell(of transfer: FinishedTransfer) -> Int {
        let present = transfers[transfer.id].map { attachments.rows(of: $0.task).count } ?? 0
        return min(max(present, Self.attachmentsToTell), Self.attachmentsPerWrite)
    }

    private func scheduleRecording() {
        guard !isStoredPlanned, let last = stored.last else { return }
        isStoredPlanned = true
        let wait = transfers[last.id].map { gatheringTime(of: $0.task) } ?? .zero
        let (previous, early) = (lastStored, lastStored.map { $0 + wait - environment.now() } ?? .zero)
        Task { [weak self, environment] in
            if early > .zero { try? await environment.sleep(for: early) }
            try? await self?.recordFinishedTransfers(unlessTakenSince: previous)
        }
    }

    /// Records the transfers unless others were recorded since this call was scheduled; then the
    /// newer ones wait their own time.
    private func recordFinishedTransfers(unlessTakenSince previous: Duration?) async throws {
        isStoredPlanned = false
        if lastStored == previous { try await recordFinishedTransfers() } else { scheduleRecording() }
    }

    private func recordFinishedTransfers() async throws {
        guard !stored.isEmpty else { return }
        try await withExclusiveAccess {
            lastStored = environment.now()
            let batch = stored
            stored = []
            var uploads: [(FinishedTransfer, UploadedFile, FileStamp)] = []
            var downloads: [(FinishedTransfer, String)] = []
            for transfer in batch {
                switch transfer.content {
                case .upload(let file, let stamp): if isCurrent(transfer) { uploads.append((transfer, file, stamp)) }
                case .download(let incoming, _):
                    if isCurrent(transfer) {
                        downloads.append((transfer, incoming))
                    } else if transfers[transfer.id]?.phase.isOver != false {
                        try? folder.removeIncoming(incoming)
                    }
                }
            }
            do {
                try await record(uploads)
            } catch {
                for (transfer, _, _) in uploads { failed(transfer.id, transfer.run, error) }
            }
            await place(downloads)
        }
    }

    private func isCurrent(_ transfer: FinishedTransfer) -> Bool {
        guard let known = transfers[transfer.id] else { return false }
        return known.run == transfer.run && known.phase == .running
    }

    // MARK: Uploads

    /// A file that is in the store, with its attachment.
    private struct Upload: Sendable {
        let name: String
        let attachment: AttachmentID?
        let file: UploadedFile
        let stamp: FileStamp
        let isExecutable: Bool
        /// The SHA-256 in hex of the previous content here, which the user saw when replacing it.
        let known: String?
        let isRepair: Bool
    }

    /// Records uploaded files in the documents of their tasks, unless the files have changed since.
    private func record(_ uploads: [(transfer: FinishedTransfer, file: UploadedFile, stamp: FileStamp)]) async throws {
        guard !uploads.isEmpty else { return }
        let namespace = try ObjectNamespace(user: configuration.userID.rawValue)
        var byTask: [TaskID: [Upload]] = [:]
        var paths: [TaskPath] = []
        let places = uploads.compactMap { upload in
            transfers[upload.transfer.id].flatMap { filePath(of: $0) }.map { (upload: upload, path: $0) }
        }
        for ((upload, path), now) in zip(places, folder.stamps(places.map(\.path))) {
            guard let transfer = transfers[upload.transfer.id], let now = try? now.get(),
                now == upload.stamp
            else { continue }
            let row = attachments.row(of: transfer.task, named: transfer.name)
            // The earlier attachment, unless its id belongs to another file that arrived here
            // during the upload.
            let earlier = transfer.attachment.flatMap { attachments.rows(of: transfer.task)[$0] == nil ? $0 : nil }
            byTask[transfer.task, default: []].append(
                Upload(
                    name: transfer.name, attachment: row?.attachment ?? earlier, file: upload.file,
                    stamp: now, isExecutable: transfer.isExecutable, known: row?.sha256, isRepair: transfer.isRepair))
            paths.append(path)
        }
        // After a power cut this disk must still have what other machines were told, as with task
        // files.
        await offload { [folder, paths] in _ = folder.synchronize(paths) }
        let groups = byTask.sorted { $0.key < $1.key }.map {
            (task: $0.key, uploads: $0.value, here: Set(attachments.rows(of: $0.key).keys))
        }
        let (environment, userID, time) = (environment, configuration.userID, configuration.wallClock())
        let recorded = try await client.transaction { transaction in
            try groups.map {
                try Self.record(
                    $0.uploads, of: $0.task, beside: $0.here, namespace, userID, environment, time, transaction)
            }
        }
        let rows = recorded.flatMap(\.rows)
        for (group, recorded) in zip(groups, recorded) where !recorded.withoutRoom.isEmpty {
            noteWithoutRoom(recorded.withoutRoom, of: group.task, used: recorded.used)
        }
        for (row, _, isBehind) in rows {
            attachments.set(row)
            try await setAttachedPartial(Self.partialKey(row.task, row.name), false)
            if isBehind { retries.insert(row.task) }
        }
        var found: [TaskPath] = []
        for upload in uploads {
            let transfer = transfers[upload.transfer.id]
            let hasRoom = transfer.map { withoutRoom[$0.task]?.names.contains(ExactText($0.name)) != true } ?? true
            end(upload.transfer.id, hasRoom ? .done : .failed("The task has no room for another attachment."))
            if let path = transfers[upload.transfer.id].flatMap({ filePath(of: $0) }) { found.append(path) }
        }
        for (path, stamp) in zip(found, folder.stamps(found)) { try await lookAgain(path, (try? stamp.get()) ?? nil) }
        // The store may only claim to have the objects.
        for case (let row, let damaged?, _) in rows { queueRepair(row, damaged) }
        if rows.contains(where: \.isBehind) { try await exportRetries() }
        try await endOffersIfAllTaken()
    }

    /// Checks a file again that may have changed after an upload read it, or that could not be read
    /// then. No event reports it again.
    func lookAgain(_ path: TaskPath) async throws {
        try await lookAgain(path, (try? folder.stamp(path)) ?? nil)
    }

    private func lookAgain(_ path: TaskPath, _ stamp: FileStamp?) async throws {
        // If the whole directory is missing, a scan finds the file when it is back.
        if stamp == nil, folder.isAbsent(path), try await !checkRoot() { return }
        await noteAttachment(path, stamp)
    }

    /// The results of recorded uploads.
    private struct Recorded: Sendable {
        var rows: [(row: AttachmentRow, damaged: TaskAttachment?, isBehind: Bool)] = []
        /// The files for which the task's document had no room.
        var withoutRoom: [String] = []
        /// The size of the document's content in bytes.
        var used = 0
    }

    private static func record(
        _ uploads: [Upload], of task: TaskID, beside here: Set<AttachmentID>, _ namespace: ObjectNamespace,
        _ userID: UserID,
        _ environment: Environment, _ time: Int64, _ transaction: ReplicaTransaction
    ) throws -> Recorded {
        let name = try DocumentName(task: task, in: transaction.databaseName)
        let view = try transaction.document(name)
        var recorded = Recorded()
        guard view.exists else { return recorded }
        let before = view.fields(pendingTimes: .previous)
        var room = AttachmentRoom(view, userID: userID)
        let present = TaskItem.attachments(in: before)
        let attachments = FieldPath(key: "attachments")
        let tables = SyncTables(transaction)
        // A file that this machine has not recorded yet may be an attachment that the task has
        // already: if the attachment has the same content and name, or the file has a numbered name
        // here, and no other file here is that attachment. Otherwise two machines have each created
        // a file of this name, and the task gets both.
        let others = Dictionary(
            grouping: present.filter { !here.contains(AttachmentID($0.key)) }.compactMapValues { TaskAttachment($0) },
            by: \.value.sha256)
        func same(_ upload: Upload) -> AttachmentID? {
            let found = others[upload.file.sha256.hex] ?? []
            return found.filter { $0.value.name.utf8.elementsEqual(upload.name.utf8) }.map { AttachmentID($0.key) }
                .min()
                ?? found.filter { isNumbered(upload.name, of: $0.value.name) }.map { AttachmentID($0.key) }.min()
        }
        /// Returns the id of a new attachment. If another machine records the same file at this
        /// moment, it uses the same id.
        func new(_ upload: Upload) -> AttachmentID {
            let id = AttachmentID(
                DocumentID.derived(from: "ferry attachment\n\(upload.file.sha256.hex)\n\(upload.name)"))
            let isFree = present[id.rawValue] == nil && !here.contains(id)
            return isFree ? id : AttachmentID(DocumentID.make(in: environment))
        }
        var repaired: [FieldPath: Value?] = [:]
        var news: [(path: FieldPath, value: Value, displaced: Merge.DisplacedValue?)] = []
        var steps: [UndoStep] = []
        var names = Set(present.values.compactMap { $0.mapValue?["name"]?.stringValue }.map { ExactText($0) })
        for upload in uploads {
            let id = upload.attachment ?? same(upload) ?? new(upload)
            let row = AttachmentRow(
                task: task, attachment: id, name: upload.name, sha256: upload.file.sha256.hex,
                content: upload.file.content.key(in: namespace).text, marks: upload.file.marks, stamp: upload.stamp)
            if present[id.rawValue] == nil, !room.take(upload.name) {
                recorded.withoutRoom.append(upload.name)
                continue
            }
            try tables.put(row)
            let known = present[id.rawValue].flatMap { TaskAttachment($0) }
            let damaged = known?.sha256 == row.sha256 && known?.isDamaged == true
            // Another machine has replaced the attachment, and the file here still has the previous
            // content.
            let isBehind = known.map { $0.sha256 != row.sha256 && upload.known == row.sha256 } ?? false
            recorded.rows.append((row, damaged && !upload.isRepair ? known : nil, isBehind))
            guard known?.sha256 != row.sha256, !isBehind else {
                if upload.isRepair, damaged {
                    repaired[damageMark(of: id)] = .some(nil)
                    if known?.size != upload.file.size {
                        repaired[attachments.appending(id.rawValue).appending("size")] = .integer(upload.file.size)
                    }
                }
                continue
            }
            // A file with a numbered name here may have its original name in the document.
            let attachmentName = known?.name ?? AttachmentNames.free(upload.name, beside: names)
            names.insert(ExactText(attachmentName))
            let attachment = TaskAttachment(
                name: attachmentName, mimeType: "\(upload.file.type)", size: upload.file.size,
                sha256: row.sha256,
                manifest: upload.file.content.key(in: namespace).description,
                modifiedTime: Timestamp(
                    seconds: upload.stamp.modified.seconds, nanos: upload.stamp.modified.nanoseconds),
                isExecutable: upload.isExecutable)
            let path = attachments.appending(id.rawValue)
            // Another machine has replaced the attachment in the meantime. For the document that is
            // no conflict, but the user has not seen that version.
            let isUnseen = known.map { $0.sha256 != upload.known } ?? false
            let displaced = view[path].map {
                Merge.DisplacedValue(
                    field: path, value: $0, side: .theirs, reason: isUnseen ? .changedOnBothSides : .replaced)
            }
            if let old = displaced?.value, !isUnseen {
                steps.append(UndoStep(.beside, task, attachment: .init(id: id, before: old, after: attachment.value)))
            }
            news.append((path, attachment.value, displaced))
        }
        if !repaired.isEmpty { try transaction.append(.merge(name, repaired)) }
        for start in stride(from: 0, to: news.count, by: attachmentsPerWrite) {
            let part = news[start..<min(start + attachmentsPerWrite, news.count)]
            var transforms = part.map { FieldTransform($0.path.appending("createdTime"), .serverTimestamp) }
            transforms.append(FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp))
            var fields: [String: Value] = [:]
            for item in part { fields.setValue(item.value, at: item.path.segments[...]) }
            let history = TaskHistory.writes(
                of: part.compactMap(\.displaced), from: before, task: name,
                userID: before["userId"]?.stringValue.map { UserID($0) } ?? userID, replica: transaction.replica,
                baseTime: view.updateTime, id: DocumentID.make(in: environment))
            let mutation = Mutation(
                .merge, name, fields: fields, mask: Set(part.map(\.path)).sorted(), transforms: transforms,
                companions: history)
            try transaction.append(mutation.signed(by: transaction.replica))
        }
        try UndoSteps(transaction).add(steps, at: time)
        recorded.used = room.used
        return recorded
    }
}

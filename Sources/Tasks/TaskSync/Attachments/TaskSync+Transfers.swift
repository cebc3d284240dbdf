import DocumentClient
import DocumentModel
import ObjectStorage
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// The transfers of attachments: started as `TransferList` allows, and tried again after a failure
/// that may pass.
extension TaskSync {
    /// The size in bytes from which the progress of a file is reported.
    static let watchedSize: Int64 = 1 << 20

    /// Queues an upload.
    ///
    /// - Parameters:
    ///   - stamp: The file's stamp, if the caller has just read it.
    ///   - isRepair: Whether everything is uploaded, even if the store reports that it has it.
    /// - Returns: The id of the transfer; nil if attachments stay on this machine.
    @discardableResult
    func queueUpload(
        _ task: TaskID, _ name: String, size: Int64, _ stamp: FileStamp? = nil, isRepair: Bool = false
    ) -> String? {
        guard objects != nil else { return nil }
        if let transfer = transfers.current(.init(upload: name, of: task)) {
            guard isRepair, !transfer.isRepair else {
                // The file is newer: the running transfer notices that at its end and starts again.
                if case .waiting = transfer.phase { start(transfer.id) }
                return transfer.id
            }
            // That transfer relies on what the store reports to have.
            end(transfer.id, .cancelled)
        }
        let row = attachments.row(of: task, named: name)
        var transfer = Transfer(
            id: idOfUpload(task, name, size: size, stamp), task: task, attachment: row?.attachment, name: name,
            isUpload: true, size: size)
        transfer.isRepair = isRepair
        return queue(transfer)
    }

    /// Offers all attachments of this machine to the store once, also after a restart. Chunks that
    /// the store has are not sent. It must be called before the client adopts a remote, whose store
    /// may lack what this machine uploaded to another one, or since a backup.
    package func offerAttachments() async throws {
        try await client.transaction { try SyncTables($0).setState("offering", "true") }
        isOffering = true
        try await withExclusiveAccess { queueOffers() }
    }

    func queueOffers() {
        for row in attachments.all { queueUpload(row.task, row.name, size: row.stamp.size) }
    }

    /// Ends the offers once all uploads are recorded.
    func endOffersIfAllTaken() async throws {
        guard isOffering, transfers.isSettled else { return }
        try await client.transaction { try SyncTables($0).removeState("offering") }
        isOffering = false
    }

    /// The maximum size in bytes of a download whose document does not state a size.
    static let undeclaredLimit: Int64 = 1 << 30

    /// The number of consecutive refusals after which a download of another user's object ends.
    static let refusalLimit = 4

    /// Queues a download.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes; nil for the size that the document states.
    ///   - isAsked: Whether a user requests it now, rather than a document.
    /// - Returns: The id of the transfer; nil if there is nothing to download.
    @discardableResult
    func queueDownload(
        _ task: TaskID, _ attachment: AttachmentID, _ file: TaskAttachment, limit: Int64? = nil, isAsked: Bool = false
    ) -> String? {
        guard objects != nil, let key = file.manifest,
            let content = ContentReference(key: key)
        else { return nil }
        if let transfer = transfers.current(.init(download: attachment, of: task)) {
            guard transfer.content != content else {
                // Another machine has uploaded the content again and removed the mark.
                let isRepaired = transfer.repair == .asked && !file.isDamaged
                if file.isDamaged, transfer.repair == .none { transfers.change(transfer.id) { $0.repair = .asked } }
                if isRepaired { transfers.change(transfer.id) { $0.repair = .done } }
                if case .waiting = transfer.phase, transfer.wrongAnswers > 0, isAsked || isRepaired {
                    transfers.change(transfer.id) {
                        $0.wrongAnswers = 0
                        $0.phase = .queued
                    }
                    startQueued()
                }
                return transfer.id
            }
            end(transfer.id, .cancelled)
        }
        // This machine is the one that uploads it.
        if let row = attachments.rows(of: task)[attachment],
            transfers.current(.init(upload: row.name, of: task))?.attachment == attachment
        {
            return nil
        }
        var transfer = Transfer(
            id: Self.idOfDownload(task, attachment, key), task: task, attachment: attachment, name: file.name,
            isUpload: false, size: file.size ?? 0)
        transfer.content = content
        transfer.owner = key.split(separator: "/").first.map { UserID(String($0)) }
        transfer.sha256 = file.sha256
        transfer.expected =
            file.size.map { .exactly($0) } ?? .atMost(min(limit ?? Self.undeclaredLimit, Self.undeclaredLimit))
        transfer.repair = file.isDamaged ? .asked : .none
        transfer.modifiedTime = file.modifiedTime
        // Files that other users share do not become programs here automatically.
        transfer.isExecutable = file.isExecutable && transfer.owner == configuration.userID
        return queue(transfer)
    }

    private func queue(_ transfer: Transfer) -> String {
        var transfer = transfer
        if pausedTransfers.contains(transfer.pauseKey) { transfer.phase = .paused }
        // Reports of an ended transfer may still arrive.
        transfer.run = transfers[transfer.id]?.run ?? 0
        transfer.earlier = earlierProgress.removeValue(forKey: transfer.id) ?? 0
        transfers.add(transfer)
        startQueued()
        return transfer.id
    }

    func startQueued() {
        while !isPaused, let transfer = transfers.next() { start(transfer.id) }
    }

    private func start(_ id: String) {
        guard var transfer = transfers[id], let objects else { return }
        transfer.run += 1
        transfer.phase = .running
        transfer.isStored = false
        let run = transfer.run
        do {
            let namespace = try ObjectNamespace(user: (transfer.owner ?? configuration.userID).rawValue)
            if transfer.isUpload {
                guard let taskFile = index.path(of: transfer.task) else { return end(id, .cancelled) }
                let path = try taskFile.attachmentsDirectory().appending(transfer.name)
                guard let stamp = try folder.stamp(path) else {
                    end(id, .cancelled)
                    Task { try? await self.withExclusiveAccess { try await self.lookAgain(path) } }
                    return
                }
                let file = try File(path: folder.absolutePath(of: path), name: transfer.name)
                let earlier = attachments.row(of: transfer.task, named: transfer.name)
                var options = UploadOptions()
                options.compression = configuration.compression
                options.earlier = earlier?.contentKey
                options.marks = earlier?.marks ?? ChunkFingerprints()
                options.replaces = transfer.isRepair
                options.inventory = inventory
                options.namesOnlyChunk = true
                let upload = UploadTask(
                    file, to: objects, namespace: namespace, options: options, environment: environment)
                transfer.isExecutable = file.isExecutable
                transfer.work = .upload(upload)
                transfer.size = stamp.size
                follow(upload, transfer) { .upload($0, stamp) }
            } else {
                guard let content = transfer.content, let incoming = transfer.incoming else {
                    return end(id, .cancelled)
                }
                try checkSpace(for: transfer)
                _ = try folder.openIncoming(incoming)
                let base = earlierVersion(of: transfer)
                var options = DownloadOptions()
                options.name = transfer.name
                options.size = transfer.expected
                options.sha256 = transfer.sha256.flatMap { ContentHash(hex: $0) }
                options.partial = try folder.absolutePath(ofIncoming: incoming)
                (options.base, options.baseListing) = (base?.path, base?.listing)
                options.isMarked = true
                // The file is moved into place together with others, and a small one is
                // synchronized to disk then.
                options.isSynced = transfer.size > Self.watchedSize
                options.modified = transfer.modifiedTime.map {
                    FileTime(seconds: $0.seconds, nanoseconds: $0.nanos)
                }
                options.isExecutable = transfer.isExecutable
                options.placement = { _ in }
                let download = DownloadTask(
                    content, to: incoming, from: objects, namespace: namespace, options: options,
                    environment: environment)
                transfer.work = .download(download)
                follow(download, transfer) { .download(incoming: incoming, $0.marks) }
            }
            transfers.change(id) { $0 = transfer }
        } catch {
            transfers.change(id) { $0 = transfer }
            failed(id, run, error)
        }
    }

    /// Throws `.full` if a download does not fit on the disk; see `DiskReserve`.
    private func checkSpace(for transfer: Transfer) throws {
        guard let place = try? folder.absolutePath(of: .root), let space = try? FileSystem.space(place) else { return }
        let promised = transfers.all.reduce(Int64(0)) { sum, other in
            guard !other.isUpload, other.phase == .running, other.id != transfer.id else { return sum }
            return sum.saturatingAdded(to: max(0, other.size.saturatingSubtracted(by: other.bytesDone)))
        }
        let disk = DiskReserve(available: space.available, total: space.total)
        let need = max(0, transfer.size.saturatingSubtracted(by: transfer.bytesDone))
        guard let lacking = disk.lacking(for: need, promised: promised) else { return }
        func mebibytes(_ bytes: Int64) -> String { "\(bytes >> 20) MiB" }
        throw ObjectStorageError(
            .full,
            "It needs \(mebibytes(need)), and \(mebibytes(space.available)) are free on the disk of \(place), of which "
                + "\(mebibytes(disk.reserve)) stay free; \(mebibytes(lacking.saturatingAdded(to: (1 << 20) - 1))) are lacking."
        )
    }

    /// Returns the file of the version that a download replaces, if it is here. The new version may
    /// share most of its chunks.
    ///
    /// The key of its manifest is included, unless the user has changed the file since.
    private func earlierVersion(of transfer: Transfer) -> (path: String, listing: ObjectKey?)? {
        guard let row = attachments.rows(of: transfer.task)[transfer.attachment ?? ""], let path = path(of: row),
            let absolute = try? folder.absolutePath(of: path)
        else { return nil }
        let isUnchanged = (try? folder.stamp(path))?.hasContent(of: row.stamp) == true
        return (absolute, isUnchanged ? row.contentKey : nil)
    }

    /// Runs a transfer. Its result is recorded in a turn, together with those of others.
    private func follow<Outcome: Sendable>(
        _ work: TransferTask<Outcome>, _ transfer: Transfer,
        stored: @escaping @Sendable (Outcome) -> FinishedTransfer.Content
    ) {
        let (id, run) = (transfer.id, transfer.run)
        work.start()
        // The transfer owns this task, which ends when the work does; `cancel` ends both.
        Task {
            let part = activity.begin("the transfer of \(transfer.name)")
            defer { activity.end(part) }
            // This task ends with the work, too.
            let watching = transfer.size >= Self.watchedSize ? Task { await self.watch(work, id, run) } : nil
            do {
                let outcome = try await work.outcome
                await watching?.value
                let content = stored(outcome)
                // A large file is synchronized to disk here, where nothing else waits for it; small
                // ones are synchronized together.
                if case .upload = content, transfer.size >= Self.watchedSize, let path = self.filePath(of: transfer) {
                    await self.synchronize(path)
                }
                self.noteFinished(FinishedTransfer(id: id, run: run, content: content), work.snapshot)
            } catch {
                await watching?.value
                try? await self.withExclusiveAccess { self.failed(id, run, error) }
            }
        }
    }

    func filePath(of transfer: Transfer) -> TaskPath? {
        try? index.path(of: transfer.task)?.attachmentsDirectory().appending(transfer.name)
    }

    private func watch<Outcome: Sendable>(_ work: TransferTask<Outcome>, _ id: String, _ run: Int) async {
        for await snapshot in work.snapshots {
            guard transfers[id]?.run == run else { return }
            transfers.change(id) { $0.snapshot = snapshot }
            await saveProgress(every: .seconds(5))
            for observer in observers.values { observer() }
        }
    }

    func failed(_ id: String, _ run: Int, _ error: any Error) {
        guard var transfer = transfers[id], transfer.run == run, !transfer.phase.isOver, transfer.phase != .paused
        else {
            return
        }
        let code = (error as? ObjectStorageError)?.code
        let isWrong = code == .notFound || code == .corrupt
        transfer.wrongAnswers = isWrong ? transfer.wrongAnswers + 1 : 0
        // A document may refer to objects of any user. Objects of a list that was just shared
        // become readable a little later.
        let isForeign = !transfer.isUpload && transfer.owner != configuration.userID
        transfer.refusals = code == .permission && isForeign ? transfer.refusals + 1 : 0
        let subject = "\(catalog[transfer.task]?.title ?? transfer.task.rawValue): \(transfer.name)"
        if transfer.refusals >= Self.refusalLimit {
            note(
                SyncProblem(
                    code: "attachment-refused", subject: subject,
                    message: "The server does not give this attachment: it is among the objects of another account.",
                    hint: "Ask whoever has attached it to attach it again; 'ferry transfers resume' tries once more."),
                for: "transfer \(transfer.pauseKey)")
            return end(id, .failed("\(error)"))
        }
        let pause: Duration
        let verdict = TransferFailure.verdict(
            code, isUpload: transfer.isUpload, wrongAnswers: transfer.wrongAnswers)
        switch verdict {
        case .cancelled: return end(id, .cancelled)
        case .final:
            note(
                SyncProblem(
                    code: "attachment-\(code?.description ?? "failed")", subject: subject, message: "\(error)"),
                for: "transfer \(transfer.pauseKey)")
            return end(id, .failed("\(error)"))
        case .retryDamaged(let reports):
            if reports { reportDamage(transfer, "\(error)") }
            pause = TransferFailure.pause(wrongAnswers: transfer.wrongAnswers, random: environment.fraction)
        case .waitForSpace:
            note(
                SyncProblem(
                    code: "disk-full", subject: subject, message: "\(error)",
                    hint: "Make room; the download goes on without further ado."),
                for: "transfer \(transfer.pauseKey)")
            if let incoming = transfer.incoming { try? folder.removeIncoming(incoming) }
            transfer.snapshot = nil
            pause = transfer.delay.next(random: environment.fraction, isOverloaded: false)
        case .retry: pause = transfer.delay.next(random: environment.fraction, isOverloaded: false)
        }
        transfer.isShortOfSpace = verdict == .waitForSpace
        transfer.earlier = transfer.isShortOfSpace ? 0 : transfer.bytesDone
        transfer.phase = .waiting("\(error)")
        transfers.change(id) { $0 = transfer }
        // Queues the transfer again after the delay, unless it has ended or was started in the
        // meantime.
        Task {
            try? await environment.sleep(for: pause)
            try? await self.withExclusiveAccess {
                guard let transfer = self.transfers[id], transfer.run == run, case .waiting = transfer.phase else {
                    return
                }
                self.transfers.change(id) { $0.phase = .queued }
                self.startQueued()
            }
        }
        startQueued()
    }

    func end(_ id: String, _ phase: Transfer.Phase) {
        guard var transfer = transfers[id] else { return }
        switch transfer.work {
        case .upload(let work)?: if phase != .done { work.cancel() }
        case .download(let work)?: if phase != .done { work.cancel() }
        case nil: break
        }
        transfer.phase = phase
        transfer.work = nil
        transfers.change(id) { $0 = transfer }
        if phase == .done || phase == .cancelled { problems["transfer \(transfer.pauseKey)"] = nil }
        if phase == .done { reportedDamage[transfer.damageKey] = nil }
        startQueued()
    }

    // MARK: Commands

    package var allTransfers: [Transfer] { transfers.all }

    package var transfersByID: [String: Transfer] { transfers.transfers }

    /// Returns a report of each transfer. Those that have ended may be forgotten afterwards.
    package func takeTransfersByID<News>(_ news: @Sendable (Transfer) -> News) -> [String: News] {
        defer { transfers.forgetOver() }
        return transfers.transfers.mapValues(news)
    }

    package enum TransferCommand: Sendable {
        case pause
        case resume
        case cancel
    }

    /// Applies a command to transfers by id. A pause survives a restart.
    package func command(_ command: TransferCommand, _ ids: [String]) async throws {
        try await withExclusiveAccess {
            for id in ids {
                guard let transfer = transfers[id], !transfer.phase.isOver || command == .resume else { continue }
                switch command {
                case .pause:
                    pausedTransfers.insert(transfer.pauseKey)
                    suspend(id)
                case .resume:
                    pausedTransfers.remove(transfer.pauseKey)
                    guard transfer.phase != .running, transfer.phase != .done else { continue }
                    // A new transfer of the same file was queued since this one ended.
                    guard !transfer.phase.isOver || !transfers.hasCurrent(like: transfer) else { continue }
                    if transfer.isUpload { try await setDeclined(transfer, false) }
                    transfers.change(id) { $0.phase = .queued }
                case .cancel:
                    pausedTransfers.remove(transfer.pauseKey)
                    end(id, .cancelled)
                    if transfer.isUpload { try await setDeclined(transfer, true) }
                }
            }
            try await savePauses()
            startQueued()
        }
    }

    private func savePauses() async throws {
        let (paused, progress) = (pausedTransfers, savedProgress)
        try await client.transaction {
            try SyncTables($0).setState("paused", paused.sorted().joined(separator: "\n"))
            try SyncTables($0).setState("progress", progress)
        }
    }

    /// Ends transfers whose file or attachment is gone. A later one of the same name is a different
    /// transfer and not paused.
    func endPointless(_ gone: [Transfer]) async {
        guard !gone.isEmpty else { return }
        var wasPaused = false
        for transfer in gone {
            end(transfer.id, .cancelled)
            if let incoming = transfer.incoming, !transfer.isUpload { try? folder.removeIncoming(incoming) }
            if pausedTransfers.remove(transfer.pauseKey) != nil { wasPaused = true }
        }
        // If that fails, a later transfer of that name is paused after a restart.
        if wasPaused { try? await savePauses() }
    }

    /// Stops the running transfers and queues them again.
    func suspendRunning() {
        for transfer in transfers.all where transfer.phase == .running {
            suspend(transfer.id)
            transfers.change(transfer.id) { $0.phase = .queued }
        }
    }

    /// Stops the traffic of a transfer. Chunks that were transferred are found again.
    private func suspend(_ id: String) {
        guard var transfer = transfers[id] else { return }
        transfer.run += 1
        switch transfer.work {
        case .upload(let work)?: work.cancel()
        case .download(let work)?: work.cancel()
        case nil: break
        }
        transfer.work = nil
        transfer.earlier = transfer.bytesDone
        transfer.phase = .paused
        transfers.change(id) { $0 = transfer }
    }
}

extension Transfer {
    /// The key by which a pause of the transfer is remembered across restarts.
    var pauseKey: String { "\(isUpload ? "up" : "down") \(task) \(attachment?.rawValue ?? name)" }

    /// The key of the content in `TaskSync.reportedDamage`.
    var damageKey: String { TaskSync.damageKey(task, attachment ?? "", sha256) }
}

import DocumentClient
import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// The queue of transfers: a few at a time, tried again when the failure may pass.
extension TaskSync {
    /// Transfers that run at once; each uses both cores.
    private static let limit = 3

    func queueUpload(_ task: String, _ name: String, size: Int64) {
        guard objects != nil else { return }
        if let (id, transfer) = pending(task, name, isUpload: true) {
            // Newer bytes: what runs finds out when it has ended, and begins again.
            if case .waiting = transfer.phase { start(id) }
            return
        }
        let row = attachments.row(of: task, named: name)
        queue(
            Transfer(
                id: DocumentID.make(in: surroundings), task: task, attachment: row?.attachment, name: name,
                isUpload: true, size: size))
    }

    func queueDownload(_ task: String, _ attachment: String, _ file: TaskAttachment) {
        guard objects != nil, let key = file.manifest,
            let manifest = key.split(separator: "/").last.flatMap({ ContentHash(hex: $0) })
        else { return }
        if let (id, transfer) = transfers.first(where: {
            $0.value.attachment == attachment && $0.value.task == task && !$0.value.isUpload && !$0.value.phase.isOver
        }) {
            guard transfer.manifest != manifest else { return }
            end(id, .cancelled)
        }
        // This machine is the one that uploads it.
        if transfers.values.contains(where: {
            $0.isUpload && $0.task == task && $0.attachment == attachment && !$0.phase.isOver
        }) {
            return
        }
        var transfer = Transfer(
            id: DocumentID.make(in: surroundings), task: task, attachment: attachment, name: file.name, isUpload: false,
            size: file.size ?? 0)
        transfer.manifest = manifest
        transfer.owner = key.split(separator: "/").first.map(String.init)
        transfer.sha256 = file.sha256
        queue(transfer)
    }

    private func pending(_ task: String, _ name: String, isUpload: Bool) -> (String, Transfer)? {
        transfers.first {
            $0.value.task == task && $0.value.isUpload == isUpload && !$0.value.phase.isOver
                && $0.value.name.utf8.elementsEqual(name.utf8)
        }.map { ($0.key, $0.value) }
    }

    private func queue(_ transfer: Transfer) {
        // What is over is kept for a while, so that those who watch see the end.
        let over = transfers.values.filter(\.phase.isOver)
        if over.count > 200, let oldest = over.min(by: { $0.id < $1.id }) { transfers[oldest.id] = nil }
        var transfer = transfer
        if pausedTransfers.contains(transfer.pauseKey) { transfer.phase = .paused }
        transfers[transfer.id] = transfer
        startQueued()
    }

    func startQueued() {
        let running = transfers.values.count { $0.phase == .running }
        guard running < Self.limit, !isPaused else { return }
        for transfer in transfers.values.filter({ $0.phase == .queued }).sorted(by: { $0.size < $1.size })
            .prefix(Self.limit - running)
        {
            start(transfer.id)
        }
    }

    private func start(_ id: String) {
        guard var transfer = transfers[id], let objects else { return }
        transfer.run += 1
        let run = transfer.run
        do {
            let namespace = try ObjectNamespace(user: transfer.owner ?? configuration.userID)
            if transfer.isUpload {
                guard let taskFile = index.path(of: transfer.task) else { return end(id, .cancelled) }
                let path = try taskFile.attachmentsDirectory().appending(transfer.name)
                guard let stamp = try folder.stamp(path) else { return end(id, .cancelled) }
                let file = try File(path: folder.absolutePath(of: path), name: transfer.name)
                let upload = UploadTask(file, to: objects, namespace: namespace, surroundings: surroundings)
                transfer.work = .upload(upload)
                transfer.size = stamp.size
                follow(upload, id, run) { try await self.uploaded($0, $1, stamp) }
            } else {
                guard let manifest = transfer.manifest else { return end(id, .cancelled) }
                let incoming = "\(transfer.task)-\(manifest.hex.prefix(24))"
                _ = try folder.openIncoming(incoming)
                let sync = self
                let waiting = transfer
                let download = DownloadTask(
                    manifest, to: incoming, from: objects, namespace: namespace,
                    partial: try folder.absolutePath(ofIncoming: incoming),
                    placement: { _ in
                        try await sync.exclusively { _ = try await sync.place(waiting, incoming: incoming) }
                    }, surroundings: surroundings)
                transfer.work = .download(download)
                follow(download, id, run) { _, _ in }
            }
            transfer.phase = .running
            transfers[id] = transfer
        } catch {
            transfers[id] = transfer
            failed(id, run, error)
        }
    }

    /// Runs a transfer and takes its outcome over in a turn of its own.
    private func follow<Outcome: Sendable>(
        _ work: TransferTask<Outcome>, _ id: String, _ run: Int,
        finish: @escaping @Sendable (Transfer, Outcome) async throws -> Void
    ) {
        work.start()
        // Owned by the transfer: it ends when the work does, which `cancel` brings about.
        Task {
            async let watching: Void = self.watch(work, id, run)
            do {
                let outcome = try await work.outcome
                await watching
                try await self.exclusively {
                    guard let transfer = self.transfers[id], transfer.run == run else { return }
                    try await finish(transfer, outcome)
                    self.end(id, .done)
                    // Bytes that came after the last look of the upload are told of by nobody else.
                    if transfer.isUpload, let path = self.filePath(of: transfer) { await self.noteAttachment(path) }
                }
            } catch {
                await watching
                try? await self.exclusively { self.failed(id, run, error) }
            }
        }
    }

    private func filePath(of transfer: Transfer) -> TaskPath? {
        try? index.path(of: transfer.task)?.attachmentsDirectory().appending(transfer.name)
    }

    private func watch<Outcome: Sendable>(_ work: TransferTask<Outcome>, _ id: String, _ run: Int) async {
        for await snapshot in work.snapshots {
            guard transfers[id]?.run == run else { return }
            transfers[id]?.snapshot = snapshot
            for observer in observers.values { observer() }
        }
    }

    private func failed(_ id: String, _ run: Int, _ error: any Error) {
        guard var transfer = transfers[id], transfer.run == run, !transfer.phase.isOver, transfer.phase != .paused
        else {
            return
        }
        let storage = error as? ObjectStorageError
        switch storage?.code {
        case .cancelled?: return end(id, .cancelled)
        case .notFound?, .corrupt?, .invalid?:
            note(
                SyncProblem(
                    code: "attachment-\(storage?.code.description ?? "failed")",
                    subject: "\(catalog[transfer.task]?.title ?? transfer.task): \(transfer.name)", message: "\(error)"),
                for: "transfer \(transfer.pauseKey)")
            return end(id, .failed("\(error)"))
        default: break
        }
        transfer.phase = .waiting("\(error)")
        let pause = transfer.delay.next(random: surroundings.fraction, isOverloaded: false)
        transfers[id] = transfer
        // Wakes the transfer up again; one that is over or was started meanwhile is left alone.
        Task {
            try? await surroundings.sleep(for: pause)
            try? await self.exclusively {
                guard let transfer = self.transfers[id], transfer.run == run, case .waiting = transfer.phase else {
                    return
                }
                self.transfers[id]?.phase = .queued
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
        transfers[id] = transfer
        if phase == .done { problems["transfer \(transfer.pauseKey)"] = nil }
        startQueued()
    }

    // MARK: Commands

    package var allTransfers: [Transfer] { transfers.values.sorted { $0.id < $1.id } }

    package enum TransferCommand: Sendable {
        case pause
        case resume
        case cancel
    }

    /// Applies a command to transfers by id. Pausing survives a restart.
    package func command(_ command: TransferCommand, _ ids: [String]) async throws {
        try await exclusively {
            for id in ids {
                guard let transfer = transfers[id], !transfer.phase.isOver || command == .resume else { continue }
                switch command {
                case .pause:
                    pausedTransfers.insert(transfer.pauseKey)
                    suspend(id)
                case .resume:
                    pausedTransfers.remove(transfer.pauseKey)
                    guard transfer.phase != .running, transfer.phase != .done else { continue }
                    transfers[id]?.phase = .queued
                case .cancel:
                    pausedTransfers.remove(transfer.pauseKey)
                    end(id, .cancelled)
                    if transfer.isUpload { try await withdraw(transfer) }
                }
            }
            let paused = pausedTransfers
            try await client.transaction {
                try SyncTables($0).setState("paused", paused.sorted().joined(separator: "\n"))
            }
            startQueued()
        }
    }

    /// Puts what runs back into the queue.
    func suspendRunning() {
        for (id, transfer) in transfers where transfer.phase == .running {
            suspend(id)
            transfers[id]?.phase = .queued
        }
    }

    /// Takes the file of a cancelled upload out of the attachments, into the local trash: what stays beside its task would be
    /// attached again. A version that the remote has already comes back.
    private func withdraw(_ transfer: Transfer) async throws {
        guard let path = filePath(of: transfer), !folder.isAbsent(path) else { return }
        // Forgotten first: a file that is missing, and known, would count as detached by the user.
        if let row = attachments.row(of: transfer.task, named: transfer.name) {
            try await client.transaction { try SyncTables($0).remove(attachment: row.attachment, of: row.task) }
            attachments.remove(row.attachment, of: row.task)
            retries.insert(row.task)
        }
        _ = try folder.trash([TrashItem(path: path, expecting: .anything)])
        _ = try? folder.removeDirectoryIfEmpty(path.parent)
        try await exportRetries()
    }

    /// Stops the traffic; chunks that were moved are found again.
    private func suspend(_ id: String) {
        guard var transfer = transfers[id] else { return }
        transfer.run += 1
        switch transfer.work {
        case .upload(let work)?: work.cancel()
        case .download(let work)?: work.cancel()
        case nil: break
        }
        transfer.work = nil
        transfer.phase = .paused
        transfers[id] = transfer
    }
}

extension Transfer {
    /// Names the transfer across restarts.
    var pauseKey: String { "\(isUpload ? "up" : "down") \(task) \(attachment ?? name)" }
}

import Glibc
import Synchronization
import SystemIO

/// The transfers of one user on this device: a queue that survives restarts.
///
/// An accepted transfer is in a journal and continues, also after a crash, until it is done, is
/// cancelled, or fails permanently. At most the chunks in flight are sent again. Nothing is
/// transferred unless `run` is running.
public actor Transfers {
    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    private let options: TransferOptions
    private let directory: String
    private let journal: TransferJournal
    private let messages: AsyncStream<Message>
    private let send: AsyncStream<Message>.Continuation
    private let watchers = Broadcast<TransferSnapshot>()
    private var queue: TransferQueue
    private var entries: [TransferID: Entry] = [:]
    private var order: [TransferID] = []
    private var alarm: Task<Void, Never>?

    private enum Message: Sendable {
        case event(TransferQueue.Event)
        case failure(TransferID, ObjectStorageError)
    }

    private struct Entry {
        var record: TransferRecord
        let handle: any TransferHandle
        let engine: any SteerableEngine
    }

    /// Opens the queue and loads its transfers.
    ///
    /// - Parameters:
    ///   - directory: A directory that only this queue uses, for the journal and for copies of
    ///     content that is not in a file.
    ///   - store: The store. It should retry failed requests; see `RetryingObjectStore`.
    public init(
        directory: String, store: any ObjectStore, namespace: ObjectNamespace,
        options: TransferOptions = TransferOptions()
    ) async throws {
        do {
            try FileSystem.makeDirectories("\(directory)/spool", mode: 0o700)
        } catch {
            throw ObjectStorageError(error)
        }
        self.directory = directory
        self.store = store
        self.namespace = namespace
        self.options = options
        journal = try TransferJournal(path: "\(directory)/transfers.sqlite")
        queue = TransferQueue(policy: options.policy, generator: options.environment)
        (messages, send) = AsyncStream.makeStream()
        for record in try await journal.all() { adopt(record) }
        removeOrphans()
    }

    // MARK: - Adding

    /// Adds an upload. It is in the journal when this returns.
    public func upload(_ request: UploadRequest) async throws -> UploadTask {
        let tasks = try await upload([request])
        guard let task = tasks.first else { throw ObjectStorageError(.unavailable, "nothing was added") }
        return task
    }

    /// Adds several uploads, all or none. They are in the journal when this returns.
    public func upload(_ requests: [UploadRequest]) async throws -> [UploadTask] {
        var records: [TransferRecord] = []
        do {
            for request in requests { records.append(try await record(of: request)) }
            try await journal.save(records)
        } catch {
            for record in records where record.isSpooled { _ = try? FileSystem.remove(record.path) }
            throw error
        }
        return records.compactMap { adopt($0) as? UploadTask }
    }

    /// Adds a download. It is in the journal when this returns.
    public func download(_ request: DownloadRequest) async throws -> DownloadTask {
        let record = TransferRecord(
            id: TransferID(randomBy: options.environment), direction: .down, label: request.label,
            name: request.name ?? FileSystem.split(request.destination).name, type: .octetStream,
            path: request.destination, partial: request.partial, priority: request.priority, size: request.size,
            sha256: request.sha256, manifest: request.manifest, object: request.object)
        try await journal.save([record])
        guard let task = adopt(record) as? DownloadTask else {
            throw ObjectStorageError(.unavailable, "the download of \(record.name) was not added")
        }
        return task
    }

    // MARK: - Watching and steering

    /// All transfers, the oldest first, including ended ones until they are forgotten.
    public var all: [any TransferHandle] { order.compactMap { entries[$0]?.handle } }

    /// Returns the transfer with this id; nil if there is none.
    public func transfer(_ id: TransferID) -> (any TransferHandle)? { entries[id]?.handle }

    /// A stream of all changes of all transfers from now on, about ten per second and transfer. A
    /// slow reader loses the oldest changes.
    public nonisolated var updates: AsyncStream<TransferSnapshot> { watchers.stream() }

    /// Makes waiting transfers retry at once, for example after the network is available again or
    /// the user has signed in.
    public nonisolated func encourage() { send.yield(.event(.encouraged)) }

    /// Stops all transfers within a second, until `resumeAll`. Each transfer keeps its own state.
    public nonisolated func suspendAll() { send.yield(.event(.suspended)) }

    /// Lets transfers run again after `suspendAll`.
    public nonisolated func resumeAll() { send.yield(.event(.resumed)) }

    /// Removes an ended transfer from the list. Other transfers are not affected.
    public func forget(_ id: TransferID) async throws {
        guard let entry = entries[id], entry.handle.snapshot.state.isFinal else { return }
        try await journal.remove(id)
        entries[id] = nil
        order.removeAll { $0 == id }
    }

    // MARK: - Running

    /// Runs the transfers until the task is cancelled. Then it stops those in progress, which
    /// continue in the next run. It may be called once.
    public func run() async {
        for await message in messages { await handle(message) }
        alarm?.cancel()
        let engines = entries.values.map(\.engine)
        // The cancelled task itself can no longer wait.
        await Task {
            for engine in engines { engine.handle(.hold) }
            for engine in engines { await engine.waitUntilStill() }
        }.value
        await journal.close()
    }

    private func handle(_ message: Message) async {
        switch message {
        case .event(let event):
            if case .command(let id, let command) = event { await note(command, id) }
            await apply(event)
        case .failure(let id, let error):
            entries[id]?.record.problem = error
            await apply(.failed(id, error.code, retryAfter: error.retryAfter))
        }
    }

    private func apply(_ event: TransferQueue.Event) async {
        for action in queue.handle(event, now: options.environment.now()) { await perform(action) }
    }

    private func note(_ command: TransferCommand, _ id: TransferID) async {
        guard let entry = entries[id], !entry.handle.snapshot.state.isFinal else { return }
        let state: TransferRecord.State
        switch command {
        case .start, .resume: state = .active
        case .pause: state = .paused
        case .cancel: state = .cancelling
        case .limit(let rate): return await save(id) { $0.rate = rate }
        }
        if entry.record.state != state, entry.record.state != .cancelling { await save(id) { $0.state = state } }
    }

    private func perform(_ action: TransferQueue.Action) async {
        switch action {
        case .launch(let id): entries[id]?.engine.handle(.launch)
        case .hold(let id): entries[id]?.engine.handle(.hold)
        case .pause(let id): entries[id]?.engine.handle(.pause)
        case .cancel(let id): entries[id]?.engine.handle(.cancel)
        case .showQueued(let id): entries[id]?.engine.showIdle(as: .queued, problem: nil)
        case .showWaiting(let id):
            entries[id]?.engine.showIdle(as: .waiting, problem: entries[id]?.record.problem)
        case .giveUp(let id):
            guard let problem = entries[id]?.record.problem else { return }
            await save(id) { $0.state = .failed }
            entries[id]?.engine.giveUp(problem)
        case .wake(let time):
            alarm?.cancel()
            alarm = Task { [send, environment = options.environment] in
                guard (try? await environment.sleepUntil(time)) != nil else { return }
                send.yield(.event(.tick))
            }
        }
    }

    /// A full disk must not stop the queue. At worst a transfer that was paused or has failed runs
    /// again after the next restart.
    private func save(_ id: TransferID, _ change: (inout TransferRecord) -> Void) async {
        guard var record = entries[id]?.record else { return }
        change(&record)
        entries[id]?.record = record
        try? await journal.save([record])
    }

    // MARK: - Making transfers of records

    private func record(of request: UploadRequest) async throws -> TransferRecord {
        let file = request.file
        var record = TransferRecord(
            id: TransferID(randomBy: options.environment), direction: .up, label: request.label, name: file.name,
            type: file.type, path: "",
            priority: request.priority, size: file.size, sha256: file.sha256)
        switch file.content {
        case .path(let path):
            record.path = path
        case .bytes(let bytes):
            record.path = spoolPath(record.id)
            record.isSpooled = true
            try await blocking { [path = record.path] in
                try FileSystem.replace(path, with: bytes, mode: 0o600, exclusive: true)
            }
        case .stream(let stream):
            record.path = spoolPath(record.id)
            record.isSpooled = true
            try await Spool.write(stream, to: record.path)
            record.size = try SourceFence(path: record.path).size
        }
        return record
    }

    private func spoolPath(_ id: TransferID) -> String { "\(directory)/spool/\(id)" }

    /// Deletes copies of a crashed process that are in the spool but not in the journal.
    private func removeOrphans() {
        let known = Set(entries.values.filter(\.record.isSpooled).map { FileSystem.split($0.record.path).name })
        guard let spool = try? Directory(path: "\(directory)/spool"), let found = try? spool.entries() else { return }
        for entry in found where !known.contains(entry.name) { try? spool.remove(entry.name) }
    }

    @discardableResult
    private func adopt(_ record: TransferRecord) -> any TransferHandle {
        let limiter = LimitedObjectStore(store, up: record.rate, down: record.rate)
        return switch record.direction {
        case .up: adopt(record, work: uploadWork(record, limiter), limiter, outcome: record.uploaded)
        case .down: adopt(record, work: downloadWork(record, limiter), limiter, outcome: record.downloaded)
        }
    }

    private func adopt<Outcome: Sendable>(
        _ record: TransferRecord, work: TransferWork<Outcome>, _ limiter: LimitedObjectStore, outcome: Outcome?
    ) -> any TransferHandle {
        let (id, send) = (record.id, send)
        let engine = TransferEngine(
            id: id, name: record.name, label: record.label, direction: record.direction, total: record.size,
            work: work)
        let task = TransferTask(
            id: id, name: record.name, label: record.label, direction: record.direction, priority: record.priority,
            engine: engine, limiter: limiter
        ) { send.yield(.event(.command(id, $0))) }
        entries[id] = Entry(record: record, handle: task, engine: engine)
        order.append(id)
        engine.onSnapshot { [watchers] in watchers.send($0) }
        switch record.state {
        case .done:
            if let outcome { engine.restore(.success(outcome)) }
        case .failed:
            engine.restore(
                .failure(record.problem ?? ObjectStorageError(.unavailable, "the transfer of \(record.name) failed")))
        case .active, .paused, .cancelling:
            engine.onEvent { event in
                switch event {
                case .stopped: send.yield(.event(.stopped(id)))
                case .ended: send.yield(.event(.ended(id)))
                case .failed(let error): send.yield(.failure(id, error))
                }
            }
            let isResting = record.state != .active
            send.yield(.event(.added(id, priority: record.priority, size: record.size, isPaused: isResting)))
            if record.state == .cancelling { send.yield(.event(.command(id, .cancel))) }
        }
        return task
    }

    private func uploadWork(_ record: TransferRecord, _ store: any ObjectStore) -> TransferWork<UploadedFile> {
        let ledger = JournalLedger(id: record.id, journal: journal, environment: options.environment)
        var uploading = UploadOptions()
        (uploading.compression, uploading.sizes) = (options.compression, options.sizes)
        let upload = Upload(
            store: store, namespace: namespace, options: uploading, ledger: ledger, budget: .shared,
            environment: options.environment)
        let (journal, namespace, isSoleWriter) = (journal, namespace, options.isSoleWriter)
        return TransferWork { progress in
            var file = File(name: record.name, bytes: [], type: record.type)
            file.content = .path(record.path)
            file.sha256 = record.sha256
            let uploaded: UploadedFile
            do {
                uploaded = try await upload.run(file, FileSource(path: record.path), progress)
            } catch {
                try? await ledger.flush()
                throw error
            }
            try await journal.save([record.done(uploaded)])
            if record.isSpooled { _ = try? FileSystem.remove(record.path) }
            return uploaded
        } clean: {
            if isSoleWriter {
                for chunk in (try? await journal.exclusiveChunks(of: record.id)) ?? [] {
                    try? await store.delete(namespace.chunk(chunk))
                }
            }
            if record.isSpooled { _ = try? FileSystem.remove(record.path) }
            try? await journal.remove(record.id)
        }
    }

    private func downloadWork(_ record: TransferRecord, _ store: any ObjectStore) -> TransferWork<DownloadedFile> {
        let owner = record.object.flatMap(ObjectNamespace.init(of:)) ?? namespace
        let content =
            record.object.flatMap { owner.reference($0) } ?? .manifest(record.manifest ?? ContentHash(of: []))
        let id = record.id
        var downloading = DownloadOptions()
        downloading.partial = record.partial
        downloading.sha256 = record.sha256
        if record.sha256 != nil, let size = record.size { downloading.size = .exactly(size) }
        if let place = options.placement {
            downloading.placement = { [weak self] finished in
                guard let snapshot = await self?.entries[id]?.handle.snapshot else { throw CancellationError() }
                try await place(snapshot, finished, record.path)
            }
        }
        let download = Download(
            store: store, namespace: owner, content: content, name: record.name,
            destination: record.path, options: downloading, budget: .shared)
        let journal = journal
        return TransferWork { progress in
            let downloaded = try await download.run(progress)
            try await journal.save([record.done(downloaded)])
            return downloaded
        } clean: {
            download.discard()
            try? await journal.remove(record.id)
        }
    }
}

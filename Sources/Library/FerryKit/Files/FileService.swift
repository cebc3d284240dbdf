import DocumentClient
import DocumentModel
import FoundationEssentials
import ObjectStorage
import SystemIO

/// The files of one account: the queue of its transfers, what becomes of the documents when one ends,
/// and the files that are kept on this machine.
actor FileService {
    private struct Entry {
        let transfer: Transfer
        let handleLabel: String
        /// The place in a document to which an upload belongs.
        var label: UploadLabel? { UploadLabel(handleLabel) }
        let following: Task<Void, Never>
    }

    private let client: DocumentDatabase
    private let database: DatabaseName
    private let transfers: Transfers
    private let namespace: ObjectNamespace
    private let environment: Environment
    private let cache: FileCache
    private var entries: [TransferID: Entry] = [:]
    private var order: [TransferID] = []
    /// The downloads to the cache that begin, by the name of the file there.
    private var fetching: [String: Task<Transfer, any Error>] = [:]
    /// The transfers in progress.
    nonisolated let list = Broadcast<[Transfer]>([])

    /// Opens the queue. It begins to work with `run`.
    init(
        client: DocumentDatabase, database: DatabaseName, store: any ObjectStore, user: String, directory: String,
        environment: Environment = .system
    ) async throws {
        self.client = client
        self.database = database
        self.environment = environment
        namespace = try ObjectNamespace(user: user)
        var options = TransferOptions()
        options.environment = environment
        transfers = try await Transfers(
            directory: "\(directory)/transfers", store: RetryingObjectStore(store), namespace: namespace,
            options: options)
        cache = try FileCache(directory: "\(directory)/cache")
    }

    /// Transfers files until the task is cancelled.
    func run() async {
        for handle in await transfers.all { follow(handle) }
        await transfers.run()
        for entry in entries.values {
            entry.following.cancel()
            entry.transfer.end(.failure(FerryError(.closed, "The transfer continues with the next Ferry.open.")))
        }
        list.finish()
    }

    /// Tries transfers that wait after a failure at once.
    nonisolated func encourage() { transfers.encourage() }

    // MARK: Adding and removing

    /// Uploads a file and adds it to a document.
    ///
    /// The document has an entry at once, unless it has another version of the file, which stays until
    /// the new one is on the server.
    func attach(_ file: File, to place: Attachments.Place) async throws -> Transfer {
        guard let transfer = try await attach([(file, place)]).first else {
            throw FerryError(.file, "The upload of \(file.name) was not added.")
        }
        return transfer
    }

    /// Uploads files and adds them to documents, all or none.
    func attach(_ files: [(file: File, place: Attachments.Place)]) async throws -> [Transfer] {
        var labels: [(File, UploadLabel)] = []
        for (file, place) in files {
            // Of two files of one name in one dictionary each gets an entry.
            let label = try await label(of: file.name, in: place)
            labels.append((file, labels.contains { $0.1 == label } ? place.newLabel() : label))
        }
        return try await attach(labels)
    }

    private func attach(_ files: [(file: File, label: UploadLabel)]) async throws -> [Transfer] {
        let replaced = files.flatMap { uploads(of: $0.label) }
        let tasks = try await transfers.upload(files.map { UploadRequest($0.file, label: $0.label.text) })
        let added = tasks.map { follow($0) }
        for transfer in replaced { transfer.cancel() }
        do {
            let time = Timestamp(microseconds: environment.wallClock() * 1000)
            var changes: [Mutation] = []
            for (file, label) in files where try await entry(label)?.object == nil {
                let new = FileReference(uploading: file, at: time)
                changes.append(.update(try name(label), [label.entry: .map(new.fields)]))
            }
            _ = try await client.write(changes, asOne: true)
        } catch {
            for transfer in added { transfer.cancel() }
            throw error
        }
        return added
    }

    /// Removes the files of a name from a document, and ends their uploads.
    func remove(_ file: String?, from place: Attachments.Place) async throws -> WriteHandle {
        let snapshot = try await client.document(try DocumentName(database: database, path: place.document))
        let labels = place.entries(in: snapshot.fields).filter { file == nil || $0.file.name == file }.map(\.label)
        let handle = try await client.write(
            labels.isEmpty
                ? [] : [.update(snapshot.name, Dictionary(labels.map { ($0.entry, nil) }) { first, _ in first })])
        for label in labels { for transfer in uploads(of: label) { transfer.cancel() } }
        return handle
    }

    // MARK: Reading

    func download(_ file: FileReference, to path: String) async throws -> Transfer {
        let object = try content(of: file)
        return follow(try await transfers.download(request(file, object, path)))
    }

    /// Returns the path of a copy of the file, which is downloaded if there is none.
    func local(_ file: FileReference) async throws -> String {
        let object = try content(of: file)
        let name = FileCache.name(of: file, object)
        if let path = cache.find(name, now: environment.wallClock()) { return path }
        let transfer = try await fetch(file, object, to: name)
        _ = try await transfer.finished()
        guard let path = cache.find(name, now: environment.wallClock()) else {
            throw FerryError(.file, "\(file.name) is larger than the cache allows.")
        }
        cache.evict(keeping: name)
        return path
    }

    /// Returns the download of a file to the cache. Several callers, and one of an earlier run, share it.
    private func fetch(_ file: FileReference, _ object: ObjectKey, to name: String) async throws -> Transfer {
        let label = "cache \(name)"
        if let known = entries.values.first(where: { $0.handleLabel == label }) { return known.transfer }
        if let beginning = fetching[name] { return try await beginning.value }
        let request = try request(file, object, cache.path(of: name), label: label)
        let beginning = Task { follow(try await transfers.download(request)) }
        fetching[name] = beginning
        defer { fetching[name] = nil }
        return try await beginning.value
    }

    nonisolated func cached(_ file: FileReference) -> String? {
        guard let object = file.object else { return nil }
        return cache.find(FileCache.name(of: file, object), now: environment.wallClock())
    }

    nonisolated func limitCache(bytes: Int64) { cache.limit(bytes) }

    private func content(of file: FileReference) throws -> ObjectKey {
        if let object = file.object { return object }
        throw FerryError(.file, "\(file.name) has not been uploaded yet by the machine that added it.")
    }

    private func request(
        _ file: FileReference, _ object: ObjectKey, _ path: String, label: String = ""
    ) throws -> DownloadRequest {
        guard let hash = ContentHash(hex: file.sha256) else {
            throw FerryError(.file, "The entry of \(file.name) has no valid hash of its content.")
        }
        return try DownloadRequest(
            object: object, to: path, name: file.name, size: file.declaredSize,
            sha256: hash, label: label)
    }

    // MARK: Following

    @discardableResult private func follow(_ handle: any TransferHandle) -> Transfer {
        let transfer = Transfer(handle)
        let task = Task { [weak self] in
            for await _ in handle.snapshots {}
            guard !Task.isCancelled else { return }
            await self?.end(handle, transfer)
        }
        entries[handle.id] = Entry(transfer: transfer, handleLabel: handle.label, following: task)
        order.append(handle.id)
        publish()
        return transfer
    }

    private func publish() { list.send(order.compactMap { entries[$0]?.transfer }) }

    private func uploads(of label: UploadLabel) -> [Transfer] {
        order.compactMap { id in entries[id].flatMap { $0.label == label ? $0.transfer : nil } }
    }

    /// Takes a transfer over that has ended. Its document is changed before the queue forgets it, so
    /// that a crash in between only repeats the change.
    private func end(_ handle: any TransferHandle, _ transfer: Transfer) async {
        let label = entries[handle.id]?.label
        var result: Result<URL?, any Error>
        var isTaken = true
        do {
            switch handle {
            case let upload as UploadTask:
                let file = try await upload.outcome
                isTaken = false
                if let label { try await complete(label, file) }
                isTaken = true
                result = .success(nil)
            case let download as DownloadTask:
                result = .success(URL(filePath: try await download.outcome.path))
            default: result = .success(nil)
            }
        } catch {
            result = .failure(FerryError.describing(error))
        }
        entries[handle.id] = nil
        order.removeAll { $0 == handle.id }
        // A file that will not come any more. The document may be gone, too.
        if case .failure = result, isTaken, let label { try? await withdraw(label) }
        if isTaken { try? await transfers.forget(handle.id) }
        publish()
        transfer.end(result)
    }

    /// Puts the content of an upload into its document.
    private func complete(_ label: UploadLabel, _ file: UploadedFile) async throws {
        let entry =
            try await entry(label)
            ?? FileReference(
                uploading: File(name: file.name, bytes: [], type: file.type),
                at: Timestamp(microseconds: environment.wallClock() * 1000))
        var fields = entry.having(file, in: namespace).fields
        fields[FileReference.Key.name] = .string(file.name)
        fields[FileReference.Key.type] = .string(file.type.description)
        do {
            _ = try await client.update(try name(label), [label.entry: .map(fields)])
        } catch let error as DocumentClientError where error.code == .notFound {
            throw FerryError(.notFound, "The document of \(file.name) was deleted.", cause: error)
        }
    }

    /// Removes the entry of an upload that failed or was cancelled, unless it has other content or
    /// another upload.
    private func withdraw(_ label: UploadLabel) async throws {
        guard uploads(of: label).isEmpty, let entry = try await entry(label), entry.isUploading else { return }
        _ = try await client.update(try name(label), [label.entry: nil])
    }

    private func label(of file: String, in place: Attachments.Place) async throws -> UploadLabel {
        let snapshot = try await client.document(try DocumentName(database: database, path: place.document))
        guard snapshot.exists else {
            throw FerryError(.notFound, "The document \(place.document) of \(file) is not on this machine.")
        }
        return place.label(of: file, in: snapshot.fields)
    }

    private func name(_ label: UploadLabel) throws -> DocumentName {
        try DocumentName(database: database, path: label.document)
    }

    private func entry(_ label: UploadLabel) async throws -> FileReference? {
        let fields = try await client.document(try name(label)).fields
        return fields.value(at: label.entry.segments[...])?.mapValue.map { FileReference(fields: $0) }
    }
}

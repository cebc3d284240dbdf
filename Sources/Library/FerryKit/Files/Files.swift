public import FoundationEssentials
import ObjectStorage

/// The content of the files of documents, and the transfers of this machine.
///
/// Equal parts of files are stored and transferred once. Content is checked against its hash before a
/// file is put in place.
public struct Files: Sendable {
    let ferry: Ferry

    /// Downloads a file. An existing one is replaced in one step, after the new one is on the disk.
    ///
    /// The download continues in the next run of the program if necessary.
    ///
    /// - Throws: `FerryError`: with `file` if the content is not on the server yet.
    @discardableResult public func download(_ file: FileReference, to url: URL) async throws -> Transfer {
        guard url.isFileURL else { throw FerryError(.invalid, "\(url) is not the URL of a file.") }
        return try await FerryError.translating {
            try await ferry.session.fileService.download(file, to: url.path)
        }
    }

    /// Returns a copy of a file on this machine, which is downloaded if it is not here.
    ///
    /// Several callers share one download. The copy is in the cache: read it, do not change it, and do
    /// not keep the URL. It may be removed when other files need the space.
    public func local(_ file: FileReference) async throws -> URL {
        try await FerryError.translating { URL(filePath: try await ferry.session.fileService.local(file)) }
    }

    /// Returns the copy of a file in the cache; nil if there is none. Needs no network.
    public func cached(_ file: FileReference) -> URL? {
        (try? ferry.session.fileService)?.cached(file).map { URL(filePath: $0) }
    }

    /// Sets the number of bytes that the copies may have together, and removes those above it that were
    /// not used for the longest time. It is 256 MiB after each sign-in and each `Ferry.open`.
    public func limitCache(toBytes bytes: Int64) throws { try ferry.session.fileService.limitCache(bytes: bytes) }

    /// The transfers in progress, now and after each one that begins or ends. It includes those of
    /// earlier runs of the program that were not finished.
    public var transfers: AsyncStream<[Transfer]> {
        (try? ferry.session.fileService)?.list.stream ?? AsyncStream { $0.finish() }
    }

    /// Adds and removes several files. The changes of documents are made together; each file has a
    /// transfer and a result of its own.
    ///
    ///     let group = try await ferry.files.batch { files in
    ///         for photo in photos { files.save(photo, to: album.attachments(\.photos)) }
    ///     }
    ///     for result in await group.results() { if case .failure(let error) = result { report(error) } }
    ///
    /// - Throws: `FerryError` if one of the files cannot be read. Then none is added.
    @discardableResult public nonisolated(nonsending) func batch(
        _ body: (inout FileBatch) throws -> Void
    ) async throws -> TransferGroup {
        var batch = FileBatch()
        try body(&batch)
        let (added, removed) = (batch.added, batch.removed)
        return try await FerryError.translating {
            let service = try ferry.session.fileService
            let transfers = try await service.attach(added.map { ($0, try $1.resolved()) })
            for (name, place) in removed { _ = try await service.remove(name, from: place.resolved()) }
            return TransferGroup(transfers: transfers)
        }
    }
}

/// Files to add to documents and to remove from them.
public struct FileBatch {
    private(set) var added: [(file: File, place: Attachments)] = []
    private(set) var removed: [(name: String?, place: Attachments)] = []

    /// Adds a file; see `Attachments.attach`.
    ///
    /// - Throws: `FerryError` with `file` if it cannot be read.
    public mutating func save(
        _ file: URL, name: String? = nil, type: String? = nil, to attachments: Attachments
    ) throws {
        let file = try FerryError.translating { try Attachments.file(at: file, name: name, type: type) }
        added.append((file, attachments))
    }

    /// Adds a file with this content.
    public mutating func save(_ data: Data, name: String, type: String? = nil, to attachments: Attachments) {
        added.append((File(name: name, bytes: [UInt8](data), type: type.flatMap { MIMEType($0) }), attachments))
    }

    /// Removes the file with a name, or all of them.
    public mutating func remove(_ name: String? = nil, from attachments: Attachments) {
        removed.append((name, attachments))
    }
}

/// Several transfers with one progress.
public struct TransferGroup: Sendable {
    /// The transfers in the order of the batch.
    public let transfers: [Transfer]

    /// Pauses all of them.
    public func pause() { for transfer in transfers { transfer.pause() } }

    /// Resumes all of them.
    public func resume() { for transfer in transfers { transfer.resume() } }

    /// Cancels all of them.
    public func cancel() { for transfer in transfers { transfer.cancel() } }

    /// The progress of all files together now.
    public var currentProgress: TransferProgress { TransferProgress(sumOf: transfers.map(\.currentProgress)) }

    /// The progress of all files together, as it is now and whenever one of them advances.
    public var progress: AsyncStream<TransferProgress> {
        let transfers = transfers
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                await withTaskGroup(of: Void.self) { group in
                    for transfer in transfers {
                        group.addTask {
                            for await _ in transfer.progress {
                                continuation.yield(TransferProgress(sumOf: transfers.map(\.currentProgress)))
                            }
                        }
                    }
                    await group.waitForAll()
                }
                continuation.yield(TransferProgress(sumOf: transfers.map(\.currentProgress)))
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Waits until all are finished, and returns the result of each in the order of the batch.
    public func results() async -> [Result<Void, any Error>] {
        var results: [Result<Void, any Error>] = []
        for transfer in transfers {
            do {
                try await transfer.finished()
                results.append(.success(()))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}

extension TransferProgress {
    /// Creates the progress of several files together. It is final when that of each is.
    init(sumOf parts: [TransferProgress]) {
        let states = Set(parts.map(\.state))
        state =
            [.running, .waiting, .paused, .failed, .cancelled].first { states.contains($0) } ?? .finished
        bytesDone = parts.reduce(0) { $0 &+ $1.bytesDone }
        let totals = parts.compactMap(\.bytesTotal)
        bytesTotal = totals.count == parts.count ? totals.reduce(0) { $0 &+ $1 } : nil
        bytesOnWire = parts.reduce(0) { $0 &+ $1.bytesOnWire }
        let rates = parts.compactMap(\.rate)
        rate = rates.isEmpty ? nil : rates.reduce(0, +)
        problem = parts.compactMap(\.problem).first
    }
}

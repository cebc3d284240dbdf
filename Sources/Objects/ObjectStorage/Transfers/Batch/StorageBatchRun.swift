import Synchronization
import SystemIO

/// Runs a batch, a few files at a time, and remembers what is done.
final class StorageBatchRun: Sendable {
    private static let width = 4

    private struct State {
        var saved: [Int: Result<UploadedFile, ObjectStorageError>] = [:]
        var counts: [Int: TransferProgress.Counts] = [:]
    }

    private let upload: Upload
    private let sources: [(file: File, source: UploadSource)]
    private let manifests: [ContentHash]
    private let state = Mutex(State())

    init(upload: Upload, sources: [(File, UploadSource)], manifests: [ContentHash]) {
        self.upload = upload
        self.sources = sources
        self.manifests = manifests
    }

    func discard() {
        for (_, source) in sources { source.discard() }
    }

    func run(_ progress: TransferProgress) async throws -> StorageBatchResult {
        let open = state.withLock { state in sources.indices.filter { (try? state.saved[$0]?.get()) == nil } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, index) in open.enumerated() {
                if place >= Self.width { try await group.next() }
                group.addTask { try await self.save(index, progress) }
            }
            try await group.waitForAll()
        }
        var deleted: [StorageBatchResult.Deleted] = []
        for manifest in manifests { deleted.append(try await delete(manifest)) }
        let saved = state.withLock { state in
            sources.enumerated().compactMap { index, item in
                state.saved[index].map { StorageBatchResult.Saved(name: item.file.name, result: $0) }
            }
        }
        return StorageBatchResult(saved: saved, deleted: deleted)
    }

    private func save(_ index: Int, _ whole: TransferProgress) async throws {
        let (file, source) = sources[index]
        let relay = ProgressRelay()
        let progress = TransferProgress { relay.call() }
        relay.set { [self, weak progress] in
            guard let progress else { return }
            whole.show(sum(index, progress.current))
        }
        let result: Result<UploadedFile, ObjectStorageError>
        do {
            result = .success(try await upload.run(file, source.open(), progress))
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            result = .failure(ObjectStorageError(wrapping: error))
        }
        state.withLock { $0.saved[index] = result }
    }

    private func delete(_ manifest: ContentHash) async throws -> StorageBatchResult.Deleted {
        do {
            try await upload.store.delete(upload.namespace.manifest(manifest))
            return StorageBatchResult.Deleted(manifest: manifest, problem: nil)
        } catch {
            if error is CancellationError { throw error }
            return StorageBatchResult.Deleted(manifest: manifest, problem: ObjectStorageError(wrapping: error))
        }
    }

    /// Returns the progress of all files. A file that has not begun counts with its size.
    private func sum(_ index: Int, _ counts: TransferProgress.Counts) -> TransferProgress.Counts {
        state.withLock { state in
            state.counts[index] = counts
            var sum = TransferProgress.Counts(total: 0)
            for (index, item) in sources.enumerated() {
                let part = state.counts[index]
                let size = part?.total ?? item.file.size
                sum.total = sum.total.flatMap { total in size.map { total.saturatingAdded(to: $0) } }
                sum.done += part?.done ?? 0
                sum.best += part?.best ?? 0
                sum.deduplicated += part?.deduplicated ?? 0
                sum.wire += part?.wire ?? 0
            }
            return sum
        }
    }
}

import Cryptography
import SystemIO

/// One attempt to upload a file to a store: read ▸ split ▸ hash ▸ look up ▸ compress ▸ put, several
/// chunks at a time. The manifest is put last, after the source was verified not to have changed.
///
/// It may be repeated after any failure: chunks that are stored already are found and not sent
/// again.
struct Upload: Sendable {
    let store: any ObjectStore
    let namespace: ObjectNamespace
    let options: UploadOptions
    let ledger: any ChunkLedger
    let budget: ByteBudget
    var environment = Environment.system
    var pilot = CompressionPilot.shared
    /// The maximum number of chunks in flight: enough to keep the processors busy while other
    /// chunks wait for the store.
    var width = 10

    func run(_ file: File, _ source: any ByteSource, _ progress: TransferProgress) async throws -> UploadedFile {
        try await BufferPool.shared.withBuffers {
            try await pass(file, source, progress)
        }
    }

    private func pass(
        _ file: File, _ source: any ByteSource, _ progress: TransferProgress
    ) async throws -> UploadedFile {
        progress.begin(total: source.size)
        let stored = try await storeChunks(of: source, type: file.type, progress)
        let (sha256, chunks) = (stored.sha256, stored.chunks)
        if let expected = file.sha256, expected != sha256 {
            throw ObjectStorageError(
                .corrupt, "\(file.name) hashes to \(sha256.short)…, expected was \(expected.short)…")
        }
        func uploaded(_ content: ContentReference) -> UploadedFile {
            var uploaded = UploadedFile(
                name: file.name, type: file.type, size: source.size, sha256: sha256, content: content,
                chunkCount: chunks.count)
            uploaded.marks = stored.marks
            return uploaded
        }
        if options.namesOnlyChunk, chunks.count == 1, let chunk = chunks.first { return uploaded(.chunk(chunk.id)) }
        let manifest = Manifest(sha256: sha256, chunks: chunks)
        let bytes = manifest.bytes
        guard bytes.count <= Manifest.byteLimit else {
            throw ObjectStorageError(
                .invalid, "\(file.name) has too many chunks (\(chunks.count)); about 700 GiB are the limit")
        }
        let id = ContentHash(of: bytes)
        let key = namespace.manifest(id)
        // A manifest with a chunk that was not in the store cannot be in the store.
        var isThere = false
        if !stored.isNew, !options.replaces { isThere = try await store.head(key)?.size == Int64(bytes.count) }
        if !isThere {
            try await store.put(key, bytes, type: .json, hash: id)
            progress.sent(raw: 0, wire: bytes.count)
        }
        return uploaded(.manifest(id))
    }

    private struct Stored {
        let sha256: ContentHash
        let chunks: [ChunkReference]
        var marks: ChunkFingerprints?
        /// Whether the store lacked one of the chunks.
        let isNew: Bool
    }

    /// The compression of chunks. Measurements with simulated time say nothing about networks and
    /// compressors.
    private var compression: CompressionPolicy {
        environment.executor == nil || options.compression != .automatic ? options.compression : .level(1)
    }

    private func storeChunks(
        of source: any ByteSource, type: MIMEType, _ progress: TransferProgress
    ) async throws -> Stored {
        let likelyCount = source.size / Int64(options.sizes.normal)
        let inventory =
            options.inventory ?? ChunkInventory(store: store, namespace: namespace, environment: environment)
        if !options.replaces { try await inventory.prepare(for: Int(clamping: likelyCount)) }
        let reader = ChunkReader(source, sizes: options.sizes)
        let earlier = EarlierVersion(key: options.earlier, marks: options.marks)
            .worthKnowing(forChunks: likelyCount)
        // Fetched while the first chunks are cut.
        async let _ = earlier.guide(reader, from: store, progress)
        return try await withThrowingTaskGroup(of: (Int, ChunkReference, isNew: Bool).self) { group in
            var hash = SHA256()
            var chunks: [ChunkReference?] = []
            var marks: [[UInt8]] = []
            var inFlight = 0
            var hasNew = false
            func collect() async throws {
                guard let (index, chunk, isNew) = try await group.next() else { return }
                chunks[index] = chunk
                if isNew { hasNew = true }
                inFlight -= 1
            }
            var batch = try await cut(reader)
            while !batch.isEmpty {
                // Another processor reads and cuts while this one hashes.
                async let following = cut(reader)
                let identities = await earlier.identify(batch.map(\.chunk), &hash)
                for (index, identity) in identities.enumerated() {
                    while inFlight >= width { try await collect() }
                    reader.note(identity.id, of: batch[index].chunk)
                    let (id, raw, share) = (identity.id, OwnedBuffer(batch[index].take()), batch[index].share)
                    let place = chunks.count
                    chunks.append(nil)
                    if let mark = identity.mark { marks.append(mark) }
                    inFlight += 1
                    group.addTask {
                        defer { share.shrink(to: 0) }
                        let (chunk, isNew) = try await storeChunk(id, raw, share, type: type, inventory, progress)
                        return (place, chunk, isNew)
                    }
                }
                let wrong = batch[identities.count...]
                batch = try await following
                if let first = wrong.first {
                    for cut in wrong + batch { BufferPool.shared.give(cut.chunk.object) }
                    reader.back(to: first.chunk)
                    batch = try await cut(reader)
                }
            }
            while inFlight > 0 { try await collect() }
            try reader.verify()
            var stored = Stored(
                sha256: ContentHash(hash.finish()), chunks: chunks.compactMap(\.self), isNew: hasNew)
            stored.marks = earlier.marks
            stored.marks?.marks = marks
            return stored
        }
    }

    /// A chunk with the memory that it holds.
    private struct Cut: Sendable {
        var chunk: ChunkReader.Chunk
        let share: ByteBudget.Share

        /// Takes the object out, so that this value no longer refers to it.
        mutating func take() -> [UInt8] {
            defer { chunk.object = [] }
            return chunk.object
        }
    }

    /// Reads the next chunk, or several if no other transfer runs, so that cutting and hashing
    /// seldom wait for each other. Returns none at the end.
    private func cut(_ reader: ChunkReader) async throws -> [Cut] {
        var batch: [Cut] = []
        var length = 0
        let enough = BufferPool.shared.hasOneUser ? 2 * options.sizes.maximum : 1
        while length < enough, !reader.isAtEnd {
            // Only an upload that holds no memory may wait for memory, or transfers could wait for
            // each other forever.
            guard
                let share = batch.isEmpty
                    ? try await budget.take(options.sizes.maximum) : budget.takeNow(options.sizes.maximum),
                let chunk = try reader.next()
            else { break }
            share.shrink(to: chunk.object.count)
            length += chunk.length
            batch.append(Cut(chunk: chunk, share: share))
        }
        return batch
    }

    /// Puts a chunk unless the store has it. Returns whether the store lacked it.
    ///
    /// - Parameter share: The memory of the raw object, which is reduced as soon as less is needed.
    private func storeChunk(
        _ id: ContentHash, _ raw: OwnedBuffer, _ share: ByteBudget.Share, type: MIMEType, _ inventory: ChunkInventory,
        _ progress: TransferProgress
    ) async throws -> (ChunkReference, isNew: Bool) {
        var object = raw.take()
        defer { BufferPool.shared.give(object) }
        let length = object.count - ChunkHeader.byteCount
        if let known = try await ledger.find(id) {
            progress.found(length, wasSent: known.wasSent)
            return (ChunkReference(id: id, length: length, storedLength: known.storedLength), false)
        }
        let key = namespace.chunk(id)
        if !options.replaces, let present = try await inventory.size(of: id),
            let stored = plausible(present, for: length)
        {
            try await ledger.record(id, KnownChunk(storedLength: stored, wasSent: false))
            progress.found(length, wasSent: false)
            return (ChunkReference(id: id, length: length, storedLength: stored), false)
        }
        let policy = pilot.policy(compression, for: type)
        let start = ContinuousClock.now
        let smaller = try ChunkCodec.smaller(object, type: type, policy: policy)
        if let smaller {
            pilot.compressed(type, policy, raw: length, stored: smaller.count, in: .now - start)
            BufferPool.shared.give(object)
            object = smaller
            share.shrink(to: smaller.count)
        }
        try await pilot.sending(object.count) { [object] in
            try await store.put(key, object, type: .octetStream, hash: smaller == nil ? id : nil)
        }
        inventory.note(id, size: Int64(object.count))
        try await ledger.record(id, KnownChunk(storedLength: object.count, wasSent: true))
        progress.sent(raw: length, wire: object.count)
        return (ChunkReference(id: id, length: length, storedLength: object.count), true)
    }

    /// Returns the stored length if it is possible for a chunk of this length. Nil otherwise; the
    /// chunk is then put again.
    private func plausible(_ stored: Int64, for length: Int) -> Int? {
        let range = Int64(ChunkHeader.byteCount)...Int64(ChunkHeader.byteCount + length)
        return range.contains(stored) ? Int(stored) : nil
    }
}

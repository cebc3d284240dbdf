import Cryptography
import SystemIO

/// One attempt to download a file from a store. It fetches the manifest, if the file has one, and
/// the chunks, several at a time, verifies the whole content, and then moves the file to its
/// destination in one step.
///
/// It may be repeated after any failure: chunks that are in the partial file already are not
/// fetched again.
struct Download: Sendable {
    let store: any ObjectStore
    let namespace: ObjectNamespace
    let content: ContentReference
    let name: String
    let destination: String
    let options: DownloadOptions
    let budget: ByteBudget
    /// The maximum number of chunks in flight.
    var width = 10

    private var partialPath: String {
        options.partial ?? Self.partialPath(for: destination, manifest: content.id)
    }

    func run(_ progress: TransferProgress) async throws -> DownloadedFile {
        try await BufferPool.shared.withBuffers {
            try await pass(progress)
        }
    }

    private func pass(_ progress: TransferProgress) async throws -> DownloadedFile {
        let (size, sha256, marks) =
            switch content {
            case .manifest(let id): try await fetch(manifest: id, progress)
            case .chunk(let id): try await fetch(onlyChunk: id, progress)
            }
        try Task.checkCancellation()
        try await place()
        var file = DownloadedFile(path: destination, size: size, sha256: sha256, manifest: content.id)
        file.marks = marks
        return file
    }

    private func fetch(
        manifest id: ContentHash, _ progress: TransferProgress
    ) async throws -> (size: Int64, ContentHash, ChunkFingerprints?) {
        let manifest = try await fetchManifest(id, progress)
        try options.size.check(manifest.size, of: name)
        progress.begin(total: manifest.size)
        let isWorthMarking = manifest.chunks.count >= Manifest.chunksWorthMarking
        var marks = options.isMarked && isWorthMarking ? ChunkFingerprints() : nil
        // Fetching a small file costs less than looking for its parts.
        var earlier: BaseFile?
        if manifest.chunks.count > 1, let base = options.base {
            let isWorthKnowing = manifest.chunks.count >= Manifest.chunksWorthKnowing
            let listing = await store.earlierManifest(isWorthKnowing ? options.baseListing : nil, progress)
            earlier = await BaseFile.find(manifest, in: base, listing: listing)
        }
        var file = try PartialFile(path: partialPath, size: manifest.size)
        var hash = try await fetchChunks(
            of: manifest, from: earlier, into: file, verifyingEach: false, &marks, progress)
        if hash != manifest.sha256 {
            // Some chunk was damaged. The second pass verifies each chunk, so that those that are
            // correct are kept.
            progress.begin(total: manifest.size)
            file = try PartialFile(path: partialPath, size: manifest.size)
            hash = try await fetchChunks(of: manifest, from: earlier, into: file, verifyingEach: true, &marks, progress)
        }
        guard hash == manifest.sha256 else {
            throw ObjectStorageError(
                .corrupt, "\(name) hashes to \(hash.short)…, its manifest says \(manifest.sha256.short)…")
        }
        if let sha256 = options.sha256, hash != sha256 {
            throw ObjectStorageError(
                .corrupt, "\(name) hashes to \(hash.short)…, expected was \(sha256.short)…")
        }
        try finish(file)
        return (manifest.size, hash, marks)
    }

    /// Fetches a file without a manifest. Its content is verified with `sha256` if that is known,
    /// which covers what the sender has read, and otherwise with the id of the chunk.
    private func fetch(
        onlyChunk id: ContentHash, _ progress: TransferProgress
    ) async throws -> (size: Int64, ContentHash, ChunkFingerprints?) {
        let limit = Int(clamping: min(options.size.limit, Int64(ChunkSizes.standard.maximum)))
        let share = try await budget.take(limit)
        defer { share.shrink(to: 0) }
        let (object, start, wire) = try await verified("the content of \(name)") {
            try await get(id, limit: limit) { bytes in
                if let sha256 = options.sha256 {
                    ContentHash(SHA256.hash(bytes)) == sha256
                } else {
                    ContentHash(ofChunk: bytes) == id
                }
            }
        }
        share.shrink(to: object.count)
        let count = object.count - start
        try options.size.check(Int64(count), of: name)
        progress.begin(total: Int64(count))
        let file = try PartialFile(path: partialPath, size: nil)
        try file.write(object[start...], at: 0)
        progress.sent(raw: count, wire: wire)
        try finish(file)
        let hash = options.sha256 ?? ContentHash(SHA256.hash(object[start...]))
        BufferPool.shared.give(object)
        return (Int64(count), hash, nil)
    }

    private func finish(_ file: PartialFile) throws {
        file.setAttributes(modified: options.modified, isExecutable: options.isExecutable)
        if options.isSynced { try file.synchronize() }
    }

    /// Deletes the partial file.
    func discard() { _ = try? FileSystem.remove(partialPath) }

    /// Returns the default path of the partial file: beside the destination, with a name that the
    /// rest of Ferry ignores and that the same download finds again.
    static func partialPath(for destination: String, manifest: ContentHash) -> String {
        let (parent, name) = FileSystem.split(destination)
        let mark = SHA256.hash("\(manifest.hex)/\(name)").hex.prefix(32)
        return "\(parent)/\(Directory.temporaryPrefix)\(mark)\(Directory.temporarySuffix)"
    }

    private func place() async throws {
        if let placement = options.placement { return try await placement(partialPath) }
        do throws(SystemError) {
            try FileSystem.rename(partialPath, to: destination)
            try Directory(path: FileSystem.split(destination).parent).synchronize()
        } catch {
            throw ObjectStorageError(error)
        }
    }

    private func fetchManifest(_ id: ContentHash, _ progress: TransferProgress) async throws -> Manifest {
        let (manifest, byteCount) = try await verified("the manifest of \(name)") {
            try await store.manifest(namespace.manifest(id), limit: options.size.manifestLimit, budget)
        }
        progress.sent(raw: 0, wire: byteCount)
        return manifest
    }

    /// Fetches all chunks into `file`. Returns the hash of the content that was written.
    ///
    /// - Parameters:
    ///   - verifies: Whether each chunk is hashed as well. The hash of the whole content alone
    ///     verifies all of them with half of the hashing; only after an error the damaged chunk has
    ///     to be found.
    ///   - marks: Receives the fingerprints of all chunks, unless it is nil.
    private func fetchChunks(
        of manifest: Manifest, from base: BaseFile?, into file: PartialFile, verifyingEach verifies: Bool,
        _ marks: inout ChunkFingerprints?, _ progress: TransferProgress
    ) async throws -> ContentHash {
        try await withThrowingTaskGroup(of: (Int, Fetched).self) { group in
            var whole = SHA256()
            var newMarks: [[UInt8]] = []
            var (started, hashed) = (0, 0)
            var offset: Int64 = 0
            var written: Int64 = 0
            var early: [Int: Fetched] = [:]
            while hashed < manifest.chunks.count {
                while started < manifest.chunks.count, started - hashed < width {
                    let (index, chunk, place) = (started, manifest.chunks[started], offset)
                    // Only a download that holds no memory may wait for memory, or downloads could
                    // wait for each other forever.
                    let isFirst = started == hashed
                    guard
                        let share = isFirst
                            ? try await budget.take(chunk.length) : budget.takeNow(chunk.length)
                    else { break }
                    group.addTask { [marks] in
                        let (object, start) = try await fetch(
                            chunk, from: base, at: place, into: file, verifies: verifies, progress)
                        let mark = marks?.mark(of: object[start...])
                        return (index, Fetched(object: OwnedBuffer(object), start: start, mark: mark, share: share))
                    }
                    started += 1
                    offset += Int64(chunk.length)
                }
                guard let (index, fetched) = try await group.next() else { break }
                early[index] = fetched
                while let fetched = early.removeValue(forKey: hashed) {
                    let object = fetched.object.take()
                    whole = await HashBatcher.shared.update(whole, with: object, from: fetched.start).whole
                    if let mark = fetched.mark { newMarks.append(mark) }
                    hashed += 1
                    written += Int64(object.count - fetched.start)
                    BufferPool.shared.give(object)
                }
                try file.isWritten(upTo: written)
            }
            marks?.marks = newMarks
            return ContentHash(whole.finish())
        }
    }

    /// A chunk that waits for its turn to be hashed, with the memory that it holds.
    private struct Fetched: Sendable {
        let object: OwnedBuffer
        /// The offset in the object at which the chunk begins. It ends at the end of the object.
        let start: Int
        let mark: [UInt8]?
        let share: ByteBudget.Share
    }

    private func fetch(
        _ chunk: ChunkReference, from base: BaseFile?, at offset: Int64, into file: PartialFile, verifies: Bool,
        _ progress: TransferProgress
    ) async throws -> (object: [UInt8], start: Int) {
        if file.hasLeftovers {
            let bytes = try file.read(chunk.length, at: offset)
            if bytes.count == chunk.length, ContentHash(ofChunk: bytes[...]) == chunk.id {
                progress.found(chunk.length, wasSent: true)
                return (bytes, 0)
            }
        }
        if let bytes = base?.read(chunk, verifying: verifies) {
            try file.write(bytes[...], at: offset)
            progress.found(chunk.length, wasSent: false)
            return (bytes, 0)
        }
        let (object, start, wire) = try await verified("the chunk \(chunk.id.short)… of \(name)") {
            try await get(chunk.id, limit: chunk.length) {
                !verifies || ContentHash(ofChunk: $0) == chunk.id
            }
        }
        guard object.count - start == chunk.length else {
            throw ObjectStorageError(.corrupt, "the chunk \(chunk.id.short)… of \(name) is shorter than listed")
        }
        try file.write(object[start...], at: offset)
        progress.sent(raw: chunk.length, wire: wire)
        return (object, start)
    }

    /// Fetches an object and decodes it. Returns an array that contains the chunk from `start` to
    /// its end, and the number of bytes that were transferred. Throws `.corrupt` if the chunk has
    /// more than `limit` bytes or `isRight` is false for it.
    private func get(
        _ id: ContentHash, limit: Int, isRight: (ArraySlice<UInt8>) -> Bool
    ) async throws -> (object: [UInt8], start: Int, wire: Int) {
        var object = try await object(of: id, limit: limit)
        let wire = object.count
        let start = try ChunkCodec.open(&object, limit: limit)
        guard isRight(object[start...]) else {
            throw ObjectStorageError(.corrupt, "the chunk \(id.short)… of \(name) is damaged")
        }
        return (object, start, wire)
    }

    /// Fetches the object of a chunk.
    ///
    /// - Parameter limit: The maximum number of bytes of the chunk. Short chunks may be fetched
    ///   together with others.
    private func object(of id: ContentHash, limit: Int) async throws -> [UInt8] {
        let most = ChunkHeader.byteCount + limit
        if most < BufferPool.leastCount {
            do {
                return try await store.read(namespace.chunk(id), limit: most)
            } catch let error as ObjectStorageError where error.code == .invalid {
                throw ObjectStorageError(
                    .corrupt, "the chunk \(id.short)… of \(name) has more than the \(limit) bytes that it can have",
                    cause: error)
            }
        }
        let content = try await store.get(namespace.chunk(id), range: nil)
        guard (0...Int64(most)).contains(content.length) else {
            throw ObjectStorageError(
                .corrupt, "the chunk \(id.short)… of \(name) has \(content.length) bytes, more than it can have")
        }
        var object = BufferPool.shared.take(Int(content.length))
        try await content.collect(limit: Int(content.length), into: &object)
        return object
    }

    /// Repeats `body` once if the bytes are wrong, because they may only have been damaged on the
    /// way.
    private func verified<Result: Sendable>(
        _ what: String, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as ObjectStorageError where error.code == .corrupt || error.code == .invalid {
            do {
                return try await body()
            } catch let error as ObjectStorageError where error.code == .corrupt {
                throw ObjectStorageError(.corrupt, "\(what) is damaged in the store: \(error)", cause: error)
            } catch let error as ObjectStorageError where error.code == .notFound {
                throw ObjectStorageError(.notFound, "\(what) is missing from the store", cause: error)
            }
        } catch let error as ObjectStorageError where error.code == .notFound {
            throw ObjectStorageError(.notFound, "\(what) is missing from the store", cause: error)
        }
    }
}

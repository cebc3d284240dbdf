import Cryptography
import SystemIO

/// One pass of a file out of a store: the manifest, if there is one, then the chunks, a few at a time, and the whole verified
/// at the end; then the file appears under its name in one step.
///
/// May be run again after any failure: chunks that are in the partial file already are not fetched again.
struct Download: Sendable {
    /// Puts the finished file in its place; throws where it must not be put there.
    typealias Placement = @Sendable (_ partialPath: String) async throws -> Void

    let store: any ObjectStore
    let namespace: ObjectNamespace
    let content: ContentReference
    let name: String
    let destination: String
    let partialPath: String
    /// How many bytes there will be, as far as its owner knows. Nothing is written of content of another size.
    var size = ExpectedSize.atMost(Manifest.fileLimit)
    /// Of the whole content, as far as its owner knows.
    var sha256: ContentHash?
    /// A file that may have some of the chunks, such as an earlier version; nil where there is none.
    var base: String?
    /// The manifest of what is in `base`, as far as that is known.
    var baseListing: ObjectKey?
    /// Whether the chunks of a long file are marked, for an upload of its next version.
    var isMarked = false
    let placement: Placement?
    let budget: ByteBudget
    /// Whether the file is on the disk before it is placed.
    var isSynced = true
    /// When the content was last changed; nil for when it came.
    var modified: FileTime?
    var isExecutable = false
    /// Chunks under way at once.
    var width = 10

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
    ) async throws -> (size: Int64, ContentHash, ChunkMarks?) {
        let manifest = try await fetchManifest(id, progress)
        try size.check(manifest.size, of: name)
        progress.begin(total: manifest.size)
        let isWorthMarking = manifest.chunks.count >= Manifest.chunksWorthMarking
        var marks = isMarked && isWorthMarking ? ChunkMarks() : nil
        // A small file costs less than looking for its parts.
        var earlier: BaseFile?
        if manifest.chunks.count > 1, let base {
            let isWorthKnowing = manifest.chunks.count >= Manifest.chunksWorthKnowing
            let listing = await store.earlierManifest(isWorthKnowing ? baseListing : nil, progress)
            earlier = await BaseFile.find(manifest, in: base, listing: listing)
        }
        var file = try PartialFile(path: partialPath, size: manifest.size)
        var hash = try await fetchChunks(
            of: manifest, from: earlier, into: file, verifyingEach: false, &marks, progress)
        if hash != manifest.sha256 {
            // Something has come damaged. Once more, now with a look at each chunk: those that are right stay.
            progress.begin(total: manifest.size)
            file = try PartialFile(path: partialPath, size: manifest.size)
            hash = try await fetchChunks(of: manifest, from: earlier, into: file, verifyingEach: true, &marks, progress)
        }
        guard hash == manifest.sha256 else {
            throw ObjectStorageError(
                .corrupt, "\(name) hashes to \(hash.short)…, its manifest says \(manifest.sha256.short)…")
        }
        if let sha256, hash != sha256 {
            throw ObjectStorageError(
                .corrupt, "\(name) hashes to \(hash.short)…, expected was \(sha256.short)…")
        }
        try finish(file)
        return (manifest.size, hash, marks)
    }

    /// The id of the chunk says of its bytes what a manifest would say. Where the hash of the whole is known, it says so too, of
    /// what the sender has read, and is asked instead.
    private func fetch(
        onlyChunk id: ContentHash, _ progress: TransferProgress
    ) async throws -> (size: Int64, ContentHash, ChunkMarks?) {
        let limit = Int(clamping: min(size.limit, Int64(ChunkSizes.standard.maximum)))
        let share = try await budget.take(limit)
        defer { share.shrink(to: 0) }
        let (object, start, wire) = try await verified("the content of \(name)") {
            try await get(id, limit: limit) { bytes in
                if let sha256 { ContentHash(SHA256.hash(bytes)) == sha256 } else { ContentHash(ofChunk: bytes) == id }
            }
        }
        share.shrink(to: object.count)
        let count = object.count - start
        try size.check(Int64(count), of: name)
        progress.begin(total: Int64(count))
        let file = try PartialFile(path: partialPath, size: nil)
        try file.write(object[start...], at: 0)
        progress.sent(raw: count, wire: wire)
        try finish(file)
        let hash = sha256 ?? ContentHash(SHA256.hash(object[start...]))
        BufferPool.shared.give(object)
        return (Int64(count), hash, nil)
    }

    private func finish(_ file: PartialFile) throws {
        file.setAttributes(modified: modified, isExecutable: isExecutable)
        if isSynced { try file.synchronize() }
    }

    /// Removes the partial file.
    func discard() { _ = try? FileSystem.remove(partialPath) }

    /// Where a download without a place of its own grows: beside the destination, under a name that tells other parts
    /// of Ferry that it is no file of the user's, and that the same download finds again.
    static func partialPath(for destination: String, manifest: ContentHash) -> String {
        let (parent, name) = FileSystem.split(destination)
        let mark = SHA256.hash("\(manifest.hex)/\(name)").hex.prefix(32)
        return "\(parent)/\(Directory.temporaryPrefix)\(mark)\(Directory.temporarySuffix)"
    }

    private func place() async throws {
        if let placement { return try await placement(partialPath) }
        do throws(SystemError) {
            try FileSystem.rename(partialPath, to: destination)
            try Directory(path: FileSystem.split(destination).parent).synchronize()
        } catch {
            throw ObjectStorageError(error)
        }
    }

    private func fetchManifest(_ id: ContentHash, _ progress: TransferProgress) async throws -> Manifest {
        let (manifest, byteCount) = try await verified("the manifest of \(name)") {
            try await store.manifest(namespace.manifest(id), limit: size.manifestLimit, budget)
        }
        progress.sent(raw: 0, wire: byteCount)
        return manifest
    }

    /// The hash of the whole, as it was written.
    ///
    /// - Parameters:
    ///   - verifies: whether each chunk is hashed as well. That the whole is right says as much of all of them, for half of the
    ///     hashing; only what is wrong has to be looked for.
    ///   - marks: unless nil, gets those of all chunks.
    private func fetchChunks(
        of manifest: Manifest, from base: BaseFile?, into file: PartialFile, verifyingEach verifies: Bool,
        _ marks: inout ChunkMarks?, _ progress: TransferProgress
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
                    // Only who holds nothing may wait for memory.
                    let isFirst = started == hashed
                    guard
                        let share = isFirst
                            ? try await budget.take(chunk.length) : budget.takeNow(chunk.length)
                    else { break }
                    group.addTask { [marks] in
                        let (object, start) = try await fetch(
                            chunk, from: base, at: place, into: file, verifies: verifies, progress)
                        let mark = marks?.mark(of: object[start...])
                        return (index, Fetched(object: Handover(object), start: start, mark: mark, share: share))
                    }
                    started += 1
                    offset += Int64(chunk.length)
                }
                guard let (index, fetched) = try await group.next() else { break }
                early[index] = fetched
                while let fetched = early.removeValue(forKey: hashed) {
                    let object = fetched.object.take()
                    whole = await SharedHashing.shared.update(whole, with: object, from: fetched.start).whole
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

    /// A chunk that waits for its turn to be hashed, with the memory it takes.
    private struct Fetched: Sendable {
        let object: Handover
        /// Where in the object it begins, which goes to the end.
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

    /// An object whose end, from `start` on, is a chunk of at most `limit` bytes, of which `isRight` holds; and how many bytes
    /// travelled.
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

    /// - Parameter limit: how many bytes the chunk has at most: short ones may travel with others.
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

    /// Tries once more where bytes are not what they should be: they may have been damaged on the way only.
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

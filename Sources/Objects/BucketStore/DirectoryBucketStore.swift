package import Cryptography
import ObjectStorage
import SQLite
import Synchronization
import SystemIO

/// A store of buckets in a directory: an index in SQLite, the bytes of small objects in segments,
/// and the bytes of each large object in a file of its own.
///
/// A put writes the bytes, makes them durable, and then commits the index, so readers see either
/// the complete old object or the complete new one. A large file grows under `incoming`, is renamed
/// into `files` and synced. A crash between the bytes and the index leaves bytes that no record
/// refers to; the next start frees their space.
package final class DirectoryBucketStore: Sendable {
    package let index: BucketIndex
    let directory: String
    private let threads: WorkerThreads
    private let hashing = DigestBatcher()
    let segments: ObjectSegments
    private let recent = RecentFiles(limit: 256 << 20, readLimit: 32 << 20)
    private let directories: [FileDirectory]
    /// The number of files kept so far plus a random start, so that the directories fill evenly.
    private let kept = Atomic(Int.random(in: 0..<1 << 16))
    /// Whether a compaction runs. Two at once would move everything twice.
    private let isCompacting = Atomic(false)

    /// The memory for longer responses that wait for their clients. A response that exceeds it is
    /// sent piece by piece.
    private let answerMemory = ByteBudget(64 << 20)
    /// The size in bytes up to which a response is not counted, because it takes no more than a
    /// piece of a longer one.
    private static let uncountedSize: Int64 = 64 << 10

    /// Opens a store, and recovers it if it was not closed in good order.
    ///
    /// - Parameters:
    ///   - directory: The store's directory, created if absent. No other process may use it.
    ///   - segmentSize: The maximum size of a segment in bytes.
    ///   - punchesSegments: False to simulate a file system that cannot free parts of files.
    /// - Throws: `BucketStoreError` with `.damaged` if there is data without an index.
    package init(directory: String, segmentSize: Int64 = 64 << 20, punchesSegments: Bool = true) throws {
        self.directory = directory
        try FileSystem.makeDirectories("\(directory)/segments", mode: 0o700)
        try FileSystem.makeDirectories("\(directory)/files", mode: 0o700)
        for name in Self.shards { try FileSystem.makeDirectories("\(directory)/files/\(name)", mode: 0o700) }
        try? FileSystem.removeTree("\(directory)/incoming")
        try FileSystem.makeDirectories("\(directory)/incoming", mode: 0o700)
        let path = Self.indexPath(directory)
        try Self.requireIndex(path, of: directory)
        let state = try Self.takeMark(directory) ?? Self.recover(directory, index: path)
        index = try BucketIndex(path: path)
        segments = ObjectSegments(directory: directory, state, segmentSize: segmentSize, punches: punchesSegments)
        directories = Self.shards.map { FileDirectory(path: "\(directory)/files/\($0)") }
        threads = try WorkerThreads(count: 32, named: "buckets")
    }

    /// Returns the path of the index of a store.
    package static func indexPath(_ directory: String) -> String { "\(directory)/index.db" }

    /// Closes the index and records that no recovery is needed.
    package func close() async {
        await index.close()
        await segments.settle()
        let state = try? await run { [segments] in segments.close() }
        guard let state = state ?? nil else { return }
        try? FileSystem.replace("\(directory)/\(Self.cleanMark)", with: state.bytes, mode: 0o600)
    }

    /// The name of a file that exists only between a clean close and the next open.
    private static let cleanMark = "closed"

    /// Removes and returns the state that the last close recorded; nil if the store was not closed
    /// cleanly, or was closed by an earlier version.
    private static func takeMark(_ directory: String) throws -> SegmentState? {
        let path = "\(directory)/\(cleanMark)"
        guard let bytes = try FileSystem.readIfPresent(path) else { return nil }
        try FileSystem.remove(path)
        try Directory(path: directory).synchronize()
        return SegmentState(bytes)
    }

    /// Restores files that a power cut took, and frees files and places that no record refers to.
    /// Call before the directory is used.
    private static func recover(_ directory: String, index path: String) throws -> SegmentState {
        let known = try names(in: path)
        try ObjectReplay(directory: directory).run { known.contains($0) }
        for shard in shards {
            for entry in try Directory(path: "\(directory)/files/\(shard)").entries()
            where !known.contains("\(shard)/\(entry.name)") {
                try FileSystem.remove("\(directory)/files/\(shard)/\(entry.name)")
            }
        }
        let places = known.compactMap { name in
            if case .segment(let place)? = ObjectPlace(name) { place } else { nil }
        }
        return try SegmentState(recovering: directory, places)
    }

    /// Refuses to open data without an index, because recovery would treat all of it as unused and
    /// remove it.
    private static func requireIndex(_ path: String, of directory: String) throws {
        if try withTables(in: path, { _ in true }) == true { return }
        let shards = shards.map { "files/\($0)" }
        for part in ["segments"] + shards where try !Directory(path: "\(directory)/\(part)").entries().isEmpty {
            throw BucketStoreError(
                .damaged,
                "The index of the objects, \(path), is gone or empty, while their data is in \(directory). Put it back from a "
                    + "backup; or move \(directory) away to begin with none: what a machine misses is uploaded again by one "
                    + "that has it.")
        }
    }

    /// Returns all files and places that records refer to; recovery frees all others.
    private static func names(in index: String) throws -> Set<String> {
        try withTables(in: index) { database in
            // Recovery frees them, because no record refers to them. They must not be freed a
            // second time.
            if try hasTable("released", database) { try database.execute("DELETE FROM released") }
            var names = Set<String>()
            try database.query("SELECT file FROM object UNION ALL SELECT file FROM part") { names.insert($0.text(0)) }
            return names
        } ?? []
    }

    /// Runs `body` on the index; returns nil if there is no index yet.
    private static func withTables<Result>(in index: String, _ body: (SQLiteDatabase) throws -> Result) throws
        -> Result?
    {
        guard FileSystem.exists(index) else { return nil }
        let database = try SQLiteDatabase(path: index)
        defer { database.close() }
        return try hasTable("part", database) ? body(database) : nil
    }

    private static func hasTable(_ name: String, _ database: SQLiteDatabase) throws -> Bool {
        try database.first("SELECT 1 FROM sqlite_schema WHERE name = ?", [.text(name)]) { _ in true } ?? false
    }

    deinit { threads.stop() }

    private static let shards = (0..<256).map { Hex.encode([UInt8($0)]) }

    /// Runs a blocking body on one of the store's threads.
    package func run<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
        try await threads.run(body)
    }

    /// Starts a blocking body on one of the store's threads.
    package func start(_ body: @escaping @Sendable () throws -> Void) -> Task<Void, any Error> {
        Task(executorPreference: threads) { try body() }
    }

    /// Computes the digests of bytes in memory, together with those of concurrent calls.
    package func digests(of bytes: [UInt8], _ wanted: ObjectDigests.Wanted) async -> ObjectDigests {
        await hashing.digests(of: bytes, wanted, on: threads)
    }

    /// Creates a temporary file for an object that arrives in pieces. Blocks.
    package func makeIncoming(_ wanted: ObjectDigests.Wanted) throws -> IncomingObject {
        try IncomingObject(path: "\(directory)/incoming/\(SystemRandom.hex(16))", wanted)
    }

    /// Opens an object as `open(_:size:)` does.
    package func open(_ record: ObjectRecord) throws -> StoredObject { try open(record.file, size: record.size) }

    /// Opens an object. Its bytes do not change while it is open. Blocks.
    ///
    /// - Throws: `SystemError` with `.notFound` if the object was replaced or moved since its
    ///   record was read, or the disk has lost it.
    package func open(_ file: String, size: Int64) throws -> StoredObject {
        guard let place = ObjectPlace(file) else { throw Self.nothing(at: file) }
        guard case .segment(let span) = place else {
            let object = try StoredObject(place, in: directory)
            recent.noteRead("\(directory)/\(place.path)", size: size)
            return object
        }
        guard let lease = segments.lease(span) else { throw Self.nothing(at: file) }
        return try StoredObject(place, in: directory, lease: lease)
    }

    /// Opens a part of a multipart upload, including one that was moved since it was looked up.
    /// Blocks.
    ///
    /// - Throws: `SystemError` with `.notFound` if the part was replaced, or the disk has lost it.
    package func open(_ part: UploadedPart, of upload: String) throws -> StoredObject {
        do {
            return try open(part.file, size: part.size)
        } catch let error as SystemError where error.code == .notFound {
            let present = try index.readHere { try $0.parts(upload) }.first { $0.number == part.number }
            guard let present, present.etag == part.etag, present.file != part.file else { throw error }
            return try open(present, of: upload)
        }
    }

    /// Returns the bytes of an object in a segment, and an owner that must live as long as they are
    /// in memory.
    ///
    /// - Returns: Nil for an object that should be read piece by piece, because it has a file of
    ///   its own, or because too many long objects are in memory already.
    /// - Throws: The errors of `open`.
    package func contents(of record: ObjectRecord) throws -> (bytes: [UInt8], owner: (any Sendable)?)? {
        guard case .segment(let place)? = ObjectPlace(record.file) else { return nil }
        var share: ByteBudget.Share?
        if place.size > Self.uncountedSize {
            share = answerMemory.takeNow(Int(place.size))
            if share == nil { return nil }
        }
        guard let lease = segments.lease(place) else { throw Self.nothing(at: record.file) }
        defer { withExtendedLifetime(lease) {} }
        return (try StoredObject.contents(of: place, in: directory), share)
    }

    private static func nothing(at file: String) -> SystemError {
        SystemError(.notFound, operation: "find an object", path: file)
    }

    /// Whether all bytes of an object exist.
    package func holds(_ record: ObjectRecord) -> Bool {
        guard let place = ObjectPlace(record.file) else { return false }
        return (try? StoredObject(place, in: directory).size) == record.size
    }

    /// Makes an incoming object a durable file, and returns the name for its record. Blocks.
    package func keep(_ incoming: inout IncomingObject) throws -> String {
        let (shard, name) = newName()
        try incoming.keep(as: name, in: directories[shard])
        let file = "\(Self.shards[shard])/\(name)"
        recent.noteWritten("\(directory)/\(ObjectPlace.file(file).path)", size: incoming.size)
        return file
    }

    /// Makes a small object durable, and returns the name for its record. If that fails, nothing of
    /// the object is kept.
    package func keep(_ bytes: ArraySlice<UInt8>, _ digest: SHA256Digest) async throws -> String {
        try await segments.store(bytes, digest).description
    }

    /// Makes small objects durable with shared syncs, and returns the names for their records in
    /// the same order. If one fails, none is kept.
    package func keep(_ objects: [(bytes: ArraySlice<UInt8>, digest: SHA256Digest)]) async throws -> [String] {
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (position, object) in objects.enumerated() {
                group.addTask { (position, try await self.keep(object.bytes, object.digest)) }
            }
            var (kept, failure): ([Int: String], (any Error)?) = ([:], nil)
            while let result = await group.nextResult() {
                switch result {
                case .success(let (position, file)): kept[position] = file
                case .failure(let error): failure = error
                }
            }
            guard let failure else { return objects.indices.compactMap { kept[$0] } }
            await discard(Array(kept.values))
            throw failure
        }
    }

    /// Returns the position of a directory, and a name for a file in it.
    private func newName() -> (shard: Int, name: String) {
        // Objects that arrive at the same time go into the same directory and share its syncs.
        let number = kept.add(1, ordering: .relaxed).newValue
        return (number / Self.filesInARow % Self.shards.count, SystemRandom.hex(16))
    }

    /// The number of consecutive files that go into one directory.
    private static let filesInARow = 256

    /// Frees files and places that a committed change left without a record. Those that cannot be
    /// freed now are found by a later recovery.
    package func discard(_ files: [String]) async {
        // Removing a large file can take long.
        if !files.isEmpty { try? await run { discardHere(files) } }
    }

    private func discardHere(_ files: [String]) {
        var places: [SegmentPlace] = []
        for file in files {
            switch ObjectPlace(file) {
            case .segment(let place)?: places.append(place)
            case .file?: _ = try? FileSystem.remove("\(directory)/files/\(file)")
            case nil: break
            }
        }
        segments.release(places)
    }

    /// Frees the places that a collection of objects left without a record. Only the store may free
    /// them, because it knows which ones are being read.
    package func discardReleased() async throws {
        await discard(
            try await index.write { database in
                var files: [String] = []
                try database.query("SELECT file FROM released") { files.append($0.text(0)) }
                if !files.isEmpty { try database.execute("DELETE FROM released") }
                return files
            })
    }

    /// Frees the space that a collection of objects left, and compacts segments if the file system
    /// cannot free parts of them.
    ///
    /// - Returns: One line for each damaged object, which is left in place.
    package func reclaimSpace() async throws -> [String] {
        try await discardReleased()
        guard !isCompacting.exchange(true, ordering: .relaxed) else { return [] }
        defer { isCompacting.store(false, ordering: .relaxed) }
        return try await SegmentCompaction(store: self).run()
    }

    /// Creates a bucket, and returns whether it is new.
    ///
    /// - Parameter now: Microseconds since 1970.
    package func createBucket(_ name: String, now: Int64) async throws -> Bool {
        let existed = try await index.read { try $0.hasBucket(name) }
        _ = try await index.write { database in
            try database.execute("INSERT OR IGNORE INTO bucket VALUES (?, ?)", [.text(name), .integer(now)])
            return []
        }
        return !existed
    }
}

/// A directory that many threads put files into.
struct FileDirectory: Sendable {
    let path: String
    private let sync = SharedSync()

    init(path: String) { self.path = path }

    /// Waits until all names created before the call are on the disk. Blocks.
    func synchronize() throws {
        try sync.run { try Directory(path: path).synchronize() }
    }
}

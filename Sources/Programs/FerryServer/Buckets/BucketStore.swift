import Cryptography
import ObjectStorage
import SQLite
import Synchronization
import SystemIO

/// Buckets of objects in a directory: an index in SQLite, the bytes of small objects in segments, and of each large one in a file
/// of its own.
///
/// A put writes the bytes, makes them durable, and then commits the index: readers see the old object or the new one, whole. A
/// large file grows under `incoming`, is renamed into `files` and synced. What no record refers to is what a crash between the two
/// leaves; the next start gives it back.
final class BucketStore: Sendable {
    let index: BucketIndex
    let directory: String
    private let threads: WorkerThreads
    private let hashing = SharedHashing()
    let segments: ObjectSegments
    private let recent = RecentFiles(limit: 256 << 20, readLimit: 32 << 20)
    private let directories: [FileDirectory]
    /// Files that were kept, beginning with any number, so that the directories fill evenly.
    private let kept = Atomic(Int.random(in: 0..<1 << 16))
    /// Two clearances at once would move everything twice.
    private let isClearing = Atomic(false)

    /// For the longer of the answers that wait for their clients in memory. An answer that finds no room is sent piece by piece.
    private let answerMemory = ByteBudget(64 << 20)
    /// An answer of this size takes no more than a piece of a longer one.
    private static let uncountedSize: Int64 = 64 << 10

    /// Objects up to this size are small, and wait in memory until they are whole.
    static let smallSize: Int64 = 256 << 10

    /// - Parameter directory: made if absent; owned by this store alone.
    /// - Parameter segmentSize: bytes that a segment has at most.
    /// - Parameter punchesSegments: false plays a file system that gives no parts of files back.
    init(directory: String, segmentSize: Int64 = 64 << 20, punchesSegments: Bool = true) throws {
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

    static func indexPath(_ directory: String) -> String { "\(directory)/index.db" }

    /// Closes the index and notes that nothing needs to be recovered.
    func close() async {
        await index.close()
        let state = try? await run { [segments] in segments.close() }
        guard let state = state ?? nil else { return }
        try? FileSystem.replace("\(directory)/\(Self.cleanMark)", with: state.bytes, mode: 0o600)
    }

    /// A file that is there only between a close in good order and the next open.
    private static let cleanMark = "closed"

    /// What the last close noted, which counts once; nil where this store, or one of an earlier version, was not closed in good order.
    private static func takeMark(_ directory: String) throws -> SegmentState? {
        let path = "\(directory)/\(cleanMark)"
        guard let bytes = try FileSystem.readIfPresent(path) else { return nil }
        try FileSystem.remove(path)
        try Directory(path: directory).synchronize()
        return SegmentState(bytes)
    }

    /// Restores what a power cut took, and gives back what no record refers to, before anybody else uses the directory.
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

    /// That an index is lost does not make the data nobody's.
    private static func requireIndex(_ path: String, of directory: String) throws {
        if try withTables(in: path, { _ in true }) == true { return }
        let shards = shards.map { "files/\($0)" }
        for part in ["segments"] + shards where try !Directory(path: "\(directory)/\(part)").entries().isEmpty {
            throw ServerError(
                .damaged,
                "The index of the objects, \(path), is gone or empty, while their data is in \(directory). Put it back from a "
                    + "backup; or move \(directory) away to begin with none: what a machine misses is uploaded anew by one that "
                    + "has it.")
        }
    }

    /// Of all files and places that records refer to; all others are about to be given back.
    private static func names(in index: String) throws -> Set<String> {
        try withTables(in: index) { database in
            // They are among what no record refers to, and would else be given back a second time.
            if try hasTable("released", database) { try database.execute("DELETE FROM released") }
            var names = Set<String>()
            try database.query("SELECT file FROM object UNION ALL SELECT file FROM part") { names.insert($0.text(0)) }
            return names
        } ?? []
    }

    /// Nil where there is no index yet.
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

    /// Runs what blocks on a thread of the store's.
    func run<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
        try await threads.run(body)
    }

    /// The same without waiting for it.
    func start(_ body: @escaping @Sendable () throws -> Void) -> Task<Void, any Error> {
        Task(executorPreference: threads) { try body() }
    }

    func digests(of bytes: [UInt8], _ wanted: ObjectDigests.Wanted) async -> ObjectDigests {
        await hashing.digests(of: bytes, wanted, on: threads)
    }

    func makeIncoming(_ wanted: ObjectDigests.Wanted) throws -> IncomingObject {
        try IncomingObject(path: "\(directory)/incoming/\(SystemRandom.hex(16))", wanted)
    }

    func open(_ record: ObjectRecord) throws -> StoredObject { try open(record.file, size: record.size) }

    /// Opens an object, whose bytes stay for as long as somebody has it open.
    ///
    /// - Throws: `SystemError` with `.notFound` where a put has replaced the object since its record was read, or the disk has lost it.
    func open(_ file: String, size: Int64) throws -> StoredObject {
        guard let place = ObjectPlace(file) else { throw Self.nothing(at: file) }
        guard case .segment(let span) = place else {
            let object = try StoredObject(place, in: directory)
            recent.noteRead("\(directory)/\(place.path)", size: size)
            return object
        }
        guard let lease = segments.lease(span) else { throw Self.nothing(at: file) }
        return try StoredObject(place, in: directory, lease: lease)
    }

    /// The bytes of an object in a segment, for an answer with all of them, and what is to live as long as they are in memory.
    ///
    /// - Returns: nil for an object that is better read piece by piece: it has a file of its own, or many longer ones are in memory
    ///   already.
    /// - Throws: as `open` does.
    func contents(of record: ObjectRecord) throws -> (bytes: [UInt8], owner: (any Sendable)?)? {
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

    /// Whether an object's bytes are there, as many as there should be.
    func holds(_ record: ObjectRecord) -> Bool {
        guard let place = ObjectPlace(record.file) else { return false }
        return (try? StoredObject(place, in: directory).size) == record.size
    }

    /// Makes what has come in a durable file with a new name below `files`, which is the answer.
    func keep(_ incoming: inout IncomingObject) throws -> String {
        let (shard, name) = newName()
        try incoming.keep(as: name, in: directories[shard])
        let file = "\(Self.shards[shard])/\(name)"
        recent.noteWritten("\(directory)/\(ObjectPlace.file(file).path)", size: incoming.size)
        return file
    }

    /// Makes a small object durable, and answers what the index is to call it; where that fails, nothing is left of it.
    func keep(_ bytes: ArraySlice<UInt8>, _ digest: SHA256Digest) async throws -> String {
        try await segments.store(bytes, digest).description
    }

    /// The same for several, which share their syncs; where one cannot be made durable, nothing is left of any.
    func keep(_ objects: [(bytes: ArraySlice<UInt8>, digest: SHA256Digest)]) async throws -> [String] {
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

    /// A directory, and a name for a file there.
    private func newName() -> (shard: Int, name: String) {
        // What comes at the same time goes into the same directory, and shares its syncs.
        let number = kept.add(1, ordering: .relaxed).newValue
        return (number / Self.filesInARow % Self.shards.count, SystemRandom.hex(16))
    }

    /// So many files go into one directory before the next gets some.
    private static let filesInARow = 256

    /// Gives back files and places that a committed change has left without an owner; what cannot be given back now is found later.
    func discard(_ files: [String]) async {
        // Removing a large file takes a while.
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

    /// Gives back what `ObjectCollection` has left without an owner. Only the store does so, as it knows who is reading.
    func discardReleased() async throws {
        await discard(
            try await index.write { database in
                var files: [String] = []
                try database.query("SELECT file FROM released") { files.append($0.text(0)) }
                if !files.isEmpty { try database.execute("DELETE FROM released") }
                return files
            })
    }

    /// Gives back what a collection has left, and what comes back only when the objects beside it lie elsewhere.
    ///
    /// - Returns: what is damaged and stays where it is, one line each.
    func giveBackSpace() async throws -> [String] {
        try await discardReleased()
        guard !isClearing.exchange(true, ordering: .relaxed) else { return [] }
        defer { isClearing.store(false, ordering: .relaxed) }
        return try await SegmentClearance(store: self).run()
    }

    /// Makes a bucket; false if it is there already.
    func createBucket(_ name: String, now: Int64) async throws -> Bool {
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

    /// Returns when each name that was there before the call is on the disk. Blocks.
    func synchronize() throws {
        try sync.run { try Directory(path: path).synchronize() }
    }
}

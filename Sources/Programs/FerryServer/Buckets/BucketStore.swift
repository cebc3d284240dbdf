import Cryptography
import SQLite
import Synchronization
import SystemIO

/// Buckets of objects in a directory: an index in SQLite, each object's bytes in a file of its own.
///
/// A put writes a file, makes it durable, and then commits the index: readers see the old object or the new one, whole. A large
/// file grows under `incoming`, is renamed into `files` and synced; a small one is durable by way of the journal. A file that no
/// record refers to is what a crash between the two leaves; the next start removes it.
final class BucketStore: Sendable {
    let index: BucketIndex
    private let directory: String
    private let threads: WorkerThreads
    private let journal: ObjectJournal
    private let recent = RecentFiles(limit: 256 << 20)
    private let directories: [FileDirectory]
    /// Files that were kept, beginning with any number, so that the directories fill evenly.
    private let kept = Atomic(Int.random(in: 0..<1 << 16))

    /// - Parameter directory: made if absent; owned by this store alone.
    init(directory: String) throws {
        self.directory = directory
        try FileSystem.makeDirectories("\(directory)/files", mode: 0o700)
        for name in Self.shards { try FileSystem.makeDirectories("\(directory)/files/\(name)", mode: 0o700) }
        try? FileSystem.removeTree("\(directory)/incoming")
        try FileSystem.makeDirectories("\(directory)/incoming", mode: 0o700)
        let path = "\(directory)/index.db"
        if try !FileSystem.remove("\(directory)/\(Self.cleanMark)"), FileSystem.exists(path) {
            try Self.recover(directory, index: path)
        }
        journal = try ObjectJournal(directory: directory)
        index = try BucketIndex(path: path)
        directories = Self.shards.map { FileDirectory(path: "\(directory)/files/\($0)") }
        threads = try WorkerThreads(count: 32, named: "buckets")
    }

    /// Closes the index and notes that nothing needs to be recovered.
    func close() async {
        await index.close()
        guard (try? await run({ [journal] in try journal.close() })) != nil else { return }
        try? FileSystem.replace("\(directory)/\(Self.cleanMark)", with: [], mode: 0o600)
    }

    /// A file that is there only between a close in good order and the next open.
    private static let cleanMark = "closed"

    /// Restores what a power cut took, and removes the files that no record refers to, before anybody else uses the directory.
    private static func recover(_ directory: String, index path: String) throws {
        let database = try SQLiteDatabase(path: path)
        defer { database.close() }
        var known = Set<String>()
        guard try database.first("SELECT 1 FROM sqlite_schema WHERE name = 'part'", [], { _ in true }) == true else {
            return
        }
        try database.query("SELECT file FROM object UNION ALL SELECT file FROM part") { known.insert($0.text(0)) }
        try ObjectReplay(directory: directory).run { known.contains($0) }
        for shard in shards {
            for entry in try Directory(path: "\(directory)/files/\(shard)").entries()
            where !known.contains("\(shard)/\(entry.name)") {
                try FileSystem.remove("\(directory)/files/\(shard)/\(entry.name)")
            }
        }
    }

    deinit { threads.stop() }

    private static let shards = (0..<256).map { Hex.encode([UInt8($0)]) }

    /// Runs what blocks on a thread of the store's.
    func run<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
        try await threads.run(body)
    }

    func makeIncoming(_ wanted: ObjectDigests.Wanted) throws -> IncomingObject {
        try IncomingObject(path: "\(directory)/incoming/\(SystemRandom.hex(16))", wanted)
    }

    func path(of file: String) -> String { "\(directory)/files/\(file)" }

    func open(_ record: ObjectRecord) throws -> FileDescriptor {
        let path = path(of: record.file)
        let file = try FileDescriptor(path: path, .read)
        recent.note(path, size: record.size)
        return file
    }

    /// Whether an object's bytes are there, as many as there should be.
    func holds(_ record: ObjectRecord) -> Bool {
        (try? FileDescriptor(path: path(of: record.file), .read).status().size) == record.size
    }

    /// Makes what has come in a durable file with a new name below `files`, which is the answer.
    func keep(_ incoming: inout IncomingObject) throws -> String {
        let (shard, name) = newName()
        try incoming.keep(as: name, in: directories[shard])
        let file = "\(Self.shards[shard])/\(name)"
        recent.note(path(of: file), size: incoming.size)
        return file
    }

    /// Writes a small object into a file with a new name, which is durable after `synchronize`. Blocks.
    func write(_ bytes: [UInt8], _ digest: SHA256Digest) throws -> ObjectJournal.Entry {
        let (shard, name) = newName()
        let entry = ObjectJournal.Entry(file: "\(Self.shards[shard])/\(name)", bytes: bytes, digest: digest)
        let path = path(of: entry.file)
        let output = try FileDescriptor(path: path, [.readWrite, .create, .exclusive], mode: 0o600)
        do {
            try output.write(bytes)
        } catch {
            _ = try? FileSystem.remove(path)
            throw error
        }
        return entry
    }

    /// Returns when what `write` has written is durable; where that fails, the file is gone.
    func synchronize(_ entry: ObjectJournal.Entry) async throws {
        if await journal.append(entry) { return }
        let path = path(of: entry.file)
        do {
            try await run {
                try FileDescriptor(path: path, .read).synchronize()
                try Directory(path: FileSystem.split(path).parent).synchronize()
            }
        } catch {
            await discard([entry.file])
            throw error
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

    /// Removes files that a committed change has left without an owner; what cannot be removed now is found later.
    func discard(_ files: [String]) async {
        // Removing a large file takes a while.
        if !files.isEmpty { try? await run { for file in files { _ = try? FileSystem.remove(path(of: file)) } } }
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

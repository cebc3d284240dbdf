import Cryptography
import SQLite
import Synchronization
import SystemIO

/// Buckets of objects in a directory: an index in SQLite, each object's bytes in a file of its own.
///
/// A put writes a file under `incoming`, syncs it, renames it into `files`, and then commits the index: readers see the old object
/// or the new one, whole. A file that no record refers to is what a crash between the two leaves; the next start removes it.
final class BucketStore: Sendable {
    let index: BucketIndex
    private let directory: String
    private let threads: [SerialThread]
    private let recent = RecentFiles(limit: 256 << 20)
    private let directories: [SharedDirectory]
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
            try Self.sweep(directory, index: path)
        }
        index = try BucketIndex(path: path)
        directories = Self.shards.map { SharedDirectory(path: "\(directory)/files/\($0)") }
        threads = (0..<32).map { _ in SerialThread() }
    }

    /// Closes the index and notes that nothing needs to be swept.
    func close() async {
        await index.close()
        try? FileSystem.replace("\(directory)/\(Self.cleanMark)", with: [], mode: 0o600)
    }

    /// A file that is there only between a close in good order and the next open.
    private static let cleanMark = "closed"

    /// Removes the files that no record refers to, before anybody else uses the directory.
    private static func sweep(_ directory: String, index path: String) throws {
        let database = try SQLiteDatabase(path: path)
        defer { database.close() }
        var known = Set<String>()
        guard try database.first("SELECT 1 FROM sqlite_schema WHERE name = 'part'", [], { _ in true }) == true else {
            return
        }
        try database.query("SELECT file FROM object UNION ALL SELECT file FROM part") { known.insert($0.text(0)) }
        for shard in shards {
            for entry in try Directory(path: "\(directory)/files/\(shard)").entries()
            where !known.contains("\(shard)/\(entry.name)") {
                try FileSystem.remove("\(directory)/files/\(shard)/\(entry.name)")
            }
        }
    }

    deinit { for thread in threads { thread.stop() } }

    private static let shards = (0..<256).map { Hex.encode([UInt8($0)]) }

    /// A thread that may block; the same for all steps of one request.
    func thread() -> SerialThread { threads[Int.random(in: threads.indices)] }

    func makeIncoming(_ wanted: IncomingObject.Wanted) throws -> IncomingObject {
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
        let name = SystemRandom.hex(16)
        // What comes at the same time goes into the same directory, and shares its syncs.
        let number = kept.add(1, ordering: .relaxed).newValue
        let shard = number / Self.filesInARow % Self.shards.count
        try incoming.keep(as: name, in: directories[shard])
        let file = "\(Self.shards[shard])/\(name)"
        recent.note(path(of: file), size: incoming.size)
        return file
    }

    /// So many files go into one directory before the next gets some.
    private static let filesInARow = 256

    /// Removes files that a committed change has left without an owner; what cannot be removed now is found later.
    func discard(_ files: [String]) {
        for file in files { _ = try? FileSystem.remove(path(of: file)) }
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

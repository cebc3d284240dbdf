import Cryptography
import SQLite
import Synchronization
import SystemIO

/// Makes small objects durable in one file that is written from front to back, so that all who put at the same time share a
/// sync.
///
/// An object's own file is written as well, and left to the system. When one of the journal's two halves is full, what comes
/// next goes to the other, and the whole file system is synced once, after which the first half is needless. What a power cut
/// takes from the files is in the journal, and the next start writes it again (`ObjectReplay`).
final class ObjectJournal: Sendable {
    /// An object whose file is written and not synced.
    struct Entry: Sendable {
        /// The file's name, `shard/name`.
        let file: String
        let bytes: [UInt8]
        let digest: SHA256Digest
    }

    private struct Waiting: Sendable {
        let entry: Entry
        let done: CheckedContinuation<Bool, Never>
    }

    private struct Queue {
        var waiting: [Waiting] = []
        var isWriting = false
    }

    private struct State {
        var current = 0
        /// Where the next entry of each half begins.
        var ends = [JournalFormat.block, JournalFormat.block]
        /// A half that has to be made needless before it is begun again.
        var old: Int?
        var isCheckpointing = false
        /// Some file may not be on the disk, and the system tells of that once only: all entries are needed by the next start.
        var hasFailed = false
    }

    private let directory: String
    /// Open from the start: syncfs(2) tells of what has failed since then.
    private let fileSystem: FileDescriptor
    private let halfSize: Int64
    private let halves: [JournalHalf]
    private let thread = SerialThread()
    private let queue = Mutex(Queue())
    private let state = Mutex(State())

    static func paths(in directory: String) -> [String] { [0, 1].map { "\(directory)/journal-\($0)" } }

    /// Makes an empty journal; what one of before holds is to be replayed first.
    ///
    /// - Parameter halfSize: bytes.
    init(directory: String, halfSize: Int64 = 64 << 20) throws {
        self.directory = directory
        self.halfSize = halfSize
        fileSystem = try FileDescriptor(path: directory, [.read, .directory])
        halves = try Self.paths(in: directory).map { try JournalHalf(path: $0) }
        for half in halves { try half.begin() }
        try Directory(path: directory).synchronize()
    }

    deinit { thread.stop() }

    /// Returns when the object is durable; false where the journal has no room just now, or cannot be written: the caller has to
    /// sync the file.
    func append(_ entry: Entry) async -> Bool {
        await withCheckedContinuation { done in
            let mustStart = queue.withLock { queue in
                queue.waiting.append(Waiting(entry: entry, done: done))
                defer { queue.isWriting = true }
                return !queue.isWriting
            }
            if mustStart { thread.async { [self] in write() } }
        }
    }

    /// Writes what waits, group by group, until nothing does. On the journal's thread.
    private func write() {
        while true {
            let group = queue.withLock { queue in
                defer { queue.waiting = [] }
                queue.isWriting = !queue.waiting.isEmpty
                return queue.waiting
            }
            if group.isEmpty { return }
            let answers = write(group.map(\.entry))
            for (waiting, answer) in zip(group, answers) { waiting.done.resume(returning: answer) }
        }
    }

    private func write(_ group: [Entry]) -> [Bool] {
        var places: [Int?] = []
        for entry in group {
            let place = reserve(JournalFormat.entrySize(entry.bytes.count))
            let isWritten = place.map { (try? halves[$0.half].write(entry, at: $0.offset)) != nil } ?? false
            places.append(isWritten ? place?.half : nil)
        }
        let synced = Set(places.compactMap { $0 }).filter { (try? halves[$0].synchronize()) != nil }
        return places.map { place in place.map { synced.contains($0) } ?? false }
    }

    /// Room for an entry; nil where there is none.
    private func reserve(_ size: Int64) -> (half: Int, offset: Int64)? {
        state.withLock { state in
            if state.ends[state.current] + size > halfSize {
                startCheckpoint(&state)
                guard state.old == nil, JournalFormat.block + size <= halfSize else { return nil }
                state.old = state.current
                state.current = 1 - state.current
                startCheckpoint(&state)
            }
            defer { state.ends[state.current] += size }
            return (state.current, state.ends[state.current])
        }
    }

    /// Makes the old half needless, on a thread of its own.
    private func startCheckpoint(_ state: inout State) {
        guard let old = state.old, !state.isCheckpointing, !state.hasFailed else { return }
        state.isCheckpointing = true
        do {
            try WorkerThread.start(named: "object-journal") { [self] in
                let isDone = (try? synchronizeFiles()) != nil && (try? halves[old].begin()) != nil
                self.state.withLock { state in
                    state.isCheckpointing = false
                    guard isDone else { return }
                    state.ends[old] = JournalFormat.block
                    state.old = nil
                }
            }
        } catch {
            state.isCheckpointing = false
        }
    }

    /// Returns when every file that was written before the call is on the disk.
    private func synchronizeFiles() throws {
        do {
            try fileSystem.synchronizeFileSystem()
        } catch {
            state.withLock { $0.hasFailed = true }
            throw error
        }
    }

    /// Makes all files durable and removes the journal, which stays where they may not be. Nothing may be appended any more. Blocks.
    func close() throws {
        try synchronizeFiles()
        if state.withLock({ $0.hasFailed }) {
            throw SystemError(.damagedMedium, operation: "write the file system to disk of", path: directory)
        }
        for path in Self.paths(in: directory) { _ = try FileSystem.remove(path) }
    }
}

import Cryptography
import Synchronization
import SystemIO

/// Makes small objects durable in one file that is written from front to back, so that all who put at the same time share a
/// sync.
///
/// An object's own file is written as well, and left to the system. When one of the journal's two halves is full, what comes
/// next goes to the other, and the whole file system is synced once, after which the first half is needless. What a power cut
/// takes from the files is in the journal, and the next start writes it again (`ObjectReplay`).
final class ObjectJournal: Sendable {
    private struct State {
        var current = 0
        /// Where the next entry begins; the half's size when it takes no more.
        var ends: [Int64]
        /// Entries that are being written.
        var writers = [0, 0]
        /// Whether a half has a header and may take entries.
        var isReady = [true, false]
        var isCheckpointing = false
    }

    private let directory: String
    private let halfSize: Int64
    private let halves: [JournalHalf]
    private let state: Mutex<State>

    static func paths(in directory: String) -> [String] { [0, 1].map { "\(directory)/journal-\($0)" } }

    /// Makes an empty journal; what one of before holds is to be replayed first.
    ///
    /// - Parameter halfSize: bytes.
    init(directory: String, halfSize: Int64 = 64 << 20) throws {
        self.directory = directory
        self.halfSize = halfSize
        halves = try Self.paths(in: directory).map { try JournalHalf(path: $0) }
        try halves[0].begin()
        try Directory(path: directory).synchronize()
        state = Mutex(State(ends: [JournalFormat.block, halfSize]))
    }

    /// Makes an object durable whose file is written and not synced. Blocks.
    ///
    /// - Parameter file: the file's name, `shard/name`.
    /// - Returns: false where the journal has no room just now, or cannot be written: the caller has to sync the file.
    func append(_ file: String, _ bytes: [UInt8], _ digest: SHA256Digest) -> Bool {
        let size = JournalFormat.entrySize(bytes.count)
        guard let (half, offset) = state.withLock({ reserve(size, &$0) }) else { return false }
        defer { state.withLock { $0.writers[half] -= 1 } }
        do {
            try halves[half].append(file, bytes, digest, at: offset)
            return true
        } catch {
            // The next half is another file; this one is tried again after a checkpoint.
            state.withLock { $0.ends[half] = halfSize }
            return false
        }
    }

    private func reserve(_ size: Int64, _ state: inout State) -> (half: Int, offset: Int64)? {
        if state.ends[state.current] + size > halfSize {
            let other = 1 - state.current
            guard state.isReady[other], state.ends[other] + size <= halfSize else {
                startCheckpoint(&state)
                return nil
            }
            state.isReady[state.current] = false
            state.current = other
            startCheckpoint(&state)
        }
        defer {
            state.ends[state.current] += size
            state.writers[state.current] += 1
        }
        return (state.current, state.ends[state.current])
    }

    /// Prepares the half that is not in use, on a thread of its own.
    private func startCheckpoint(_ state: inout State) {
        guard !state.isCheckpointing else { return }
        state.isCheckpointing = true
        do {
            try WorkerThread.start(named: "object-journal") { [self] in
                let isDone = (try? checkpoint()) != nil
                self.state.withLock { state in
                    state.isCheckpointing = false
                    let other = 1 - state.current
                    // Who still writes there has the old entries' place in mind; the next put tries again.
                    guard isDone, state.writers[other] == 0, (try? halves[other].begin()) != nil else { return }
                    state.ends[other] = JournalFormat.block
                    state.isReady[other] = true
                }
            }
        } catch {
            state.isCheckpointing = false
        }
    }

    /// Returns when every file that was written before the call is on the disk.
    private func checkpoint() throws {
        try FileDescriptor(path: directory, [.read, .directory]).synchronizeFileSystem()
    }

    /// Makes all files durable and removes the journal. Nothing may be appended any more.
    func close() throws {
        try checkpoint()
        for path in Self.paths(in: directory) { _ = try FileSystem.remove(path) }
    }
}

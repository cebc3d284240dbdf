import Synchronization
import SystemIO

/// One of the journal's files.
final class JournalHalf: Sendable {
    private let descriptor: FileDescriptor
    /// What the entries that count bear. Drawn anew each time the half is begun, so that no entry of before, and nothing
    /// that a client puts into an object, is taken for one.
    private let epoch = Mutex<[UInt8]>([])

    init(path: String) throws {
        descriptor = try FileDescriptor(path: path, [.readWrite, .create, .truncate], mode: 0o600)
    }

    /// Makes all entries void.
    func begin() throws {
        let epoch = SystemRandom.bytes(JournalFormat.epochSize)
        try descriptor.write(JournalFormat.header(epoch), at: 0)
        self.epoch.withLock { $0 = epoch }
    }

    func write(_ entry: ObjectJournal.Entry, at offset: Int64) throws {
        let bytes = JournalFormat.entry(epoch.withLock { $0 }, entry.file, entry.bytes, entry.digest)
        try descriptor.write(bytes, at: offset)
    }

    /// Returns when all that was written is on the disk.
    func synchronize() throws { try descriptor.synchronizeContent() }
}

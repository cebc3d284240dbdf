import Cryptography
import Synchronization
import SystemIO

/// One of the journal's files.
final class JournalHalf: Sendable {
    private let descriptor: FileDescriptor
    private let sync = SharedSync()
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

    /// Returns when the entry is on the disk. Blocks.
    func append(_ file: String, _ bytes: [UInt8], _ digest: SHA256Digest, at offset: Int64) throws {
        let entry = JournalFormat.entry(epoch.withLock { $0 }, file, bytes, digest)
        try descriptor.write(entry, at: offset)
        try sync.run { try descriptor.synchronizeContent() }
    }
}

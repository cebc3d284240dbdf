import Cryptography
import Synchronization
import SystemIO

/// A segment that is being written.
final class SegmentFile: Sendable {
    let number: Int
    private let descriptor: FileDescriptor
    private let epoch: [UInt8]
    private let failed = Atomic(false)

    /// Makes the file, and returns when it and its name are on the disk.
    init(number: Int, in directory: String) throws {
        self.number = number
        let path = "\(directory)/\(SegmentPlace.path(of: number))"
        let epoch = SystemRandom.bytes(EntryFormat.epochSize)
        self.epoch = epoch
        descriptor = try FileDescriptor(path: path, [.readWrite, .create, .exclusive], mode: 0o600)
        do {
            try descriptor.write(EntryFormat.header(epoch), at: 0)
            try descriptor.synchronize()
            try Directory(path: FileSystem.split(path).parent).synchronize()
        } catch {
            _ = try? FileSystem.remove(path)
            throw error
        }
    }

    /// Whether what is written may not come to the disk. The system tells of that once, so that no later sync is believed.
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    /// The head comes last, so that there is none without its object while this process lives.
    func write(_ bytes: [UInt8], _ digest: SHA256Digest, at place: SegmentPlace) throws {
        try descriptor.write(bytes, at: place.start)
        try descriptor.write(
            EntryFormat.head(epoch, place.description, size: bytes.count, digest), at: place.offset)
    }

    /// Returns when all that was written is on the disk.
    func synchronize() throws {
        do {
            guard !hasFailed else {
                throw SystemError(.damagedMedium, operation: "write to disk", path: descriptor.path)
            }
            try descriptor.synchronizeContent()
        } catch {
            failed.store(true, ordering: .releasing)
            throw error
        }
    }
}

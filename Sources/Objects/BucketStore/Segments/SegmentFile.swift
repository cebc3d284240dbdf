import Cryptography
import Synchronization
import SystemIO

/// A segment that is being written.
final class SegmentFile: Sendable {
    let number: Int
    private let descriptor: FileDescriptor
    private let epoch: [UInt8]
    private let failed = Atomic(false)

    /// Creates the file. When this returns, the file and its name are on the disk.
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

    /// Whether a sync has failed. The system reports a failure once, so later syncs are not
    /// trusted.
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    /// Writes objects whose places follow one another, and returns when they are on the disk.
    ///
    /// - Parameter pending: A buffer that all calls share, because allocating memory has its cost.
    func write(
        _ objects: [(bytes: ArraySlice<UInt8>, digest: SHA256Digest, place: SegmentPlace)],
        through pending: inout [UInt8]
    ) throws {
        guard !hasFailed else { throw SystemError(.damagedMedium, operation: "write to disk", path: descriptor.path) }
        pending.removeAll(keepingCapacity: true)
        var offset = objects.first?.place.offset ?? 0
        for (bytes, digest, place) in objects {
            pending += EntryFormat.head(epoch, place.description, size: bytes.count, digest)
            pending += bytes
            // Write whole blocks; otherwise the system would have to read the last one to fill it
            // up.
            let rest = Int(place.blocks.upperBound - place.start) - bytes.count
            pending.append(contentsOf: repeatElement(0, count: rest))
            guard pending.count >= Self.writeSize || place == objects.last?.place else { continue }
            try descriptor.write(pending, at: offset)
            offset += Int64(pending.count)
            pending.removeAll(keepingCapacity: true)
        }
        do {
            try descriptor.synchronizeContent()
        } catch {
            failed.store(true, ordering: .releasing)
            throw error
        }
    }

    /// The size of one write in bytes: large, because each call has its cost, but small enough for
    /// the processor's cache.
    private static let writeSize = 512 << 10
}

import Synchronization
import SystemIO

/// The source of the bytes of an upload. It is read from start to end by one task at a time;
/// reading may block.
protocol ByteSource: Sendable {
    /// The name for messages.
    var name: String { get }
    /// The size in bytes.
    var size: Int64 { get }

    /// Reads bytes at `offset` into the buffer and returns their number; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int

    /// Throws `.sourceChanged` unless everything that was read belongs to one version.
    func verifyUnchanged() throws
}

/// A source in memory.
struct MemorySource: ByteSource {
    let name: String
    let bytes: [UInt8]

    var size: Int64 { Int64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard offset >= 0, offset < size else { return 0 }
        let part = bytes[Int(offset)...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }

    func verifyUnchanged() {}
}

/// A file as a source. The status of its descriptor and of its path, before the first byte and
/// after the last, tells whether it has changed.
final class FileSource: ByteSource {
    let path: String
    private let descriptor: FileDescriptor
    private let fence: SourceFence
    private let window = Mutex(PageWindow())

    init(path: String) throws {
        self.path = path
        do throws(SystemError) {
            descriptor = try FileDescriptor(path: path, [.read, .nonBlocking])
            let status = try descriptor.status()
            guard status.kind == .file else {
                throw SystemError(
                    .unsupported, operation: "read", path: path, remedy: "Only regular files can be uploaded")
            }
            fence = SourceFence(status)
        } catch {
            throw ObjectStorageError(error)
        }
    }

    var name: String { path }

    var size: Int64 { fence.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        do throws(SystemError) {
            let count = try descriptor.read(into: buffer, at: offset)
            window.withLock { $0.hasRead(upTo: offset, of: descriptor) }
            return count
        } catch {
            throw ObjectStorageError(error)
        }
    }

    func verifyUnchanged() throws {
        let status = try? descriptor.status()
        guard status.map(SourceFence.init) == fence, (try? SourceFence(path: path)) == fence else {
            throw ObjectStorageError(
                .sourceChanged, "\(path) changed while it was read; it is uploaded again once it rests")
        }
    }
}

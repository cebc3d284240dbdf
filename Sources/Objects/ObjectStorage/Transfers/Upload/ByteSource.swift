import Synchronization
import SystemIO

/// Where the bytes of an upload come from. Read from its start to its end by one task; reading may block.
protocol ByteSource: Sendable {
    /// For messages.
    var name: String { get }
    var size: Int64 { get }

    /// Fills as much of the buffer as there is at `offset`; 0 means the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int

    /// Throws `.sourceChanged` unless everything that was read belongs to one version.
    func verifyUnchanged() throws
}

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

/// A file, fenced by what `stat` says of its descriptor and its path before the first byte and after the last.
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

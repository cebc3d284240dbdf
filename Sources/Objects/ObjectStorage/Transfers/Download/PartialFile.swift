import Synchronization
import SystemIO

/// The file to which a download is written. Chunks of an earlier attempt at the same download are
/// kept if their hashes are correct.
final class PartialFile: Sendable {
    let path: String
    /// Whether the file may contain chunks of an earlier attempt.
    let hasLeftovers: Bool
    /// Whether everything that was not written yet is a hole.
    private let keepsHoles: Bool
    private let descriptor: FileDescriptor
    private let window = Mutex(PageWindow())

    /// Opens or creates the file.
    ///
    /// - Parameter size: The size of the whole content; nil for a file that is written at once and
    ///   overwrites whatever the file contains.
    init(path: String, size: Int64?) throws {
        self.path = path
        do throws(SystemError) {
            descriptor = try FileDescriptor(path: path, [.readWrite, .create, .noFollow], mode: 0o600)
            let status = try descriptor.status()
            hasLeftovers = status.size > 0 && status.size == size
            keepsHoles = size != nil && !hasLeftovers
            if !hasLeftovers {
                // ext4 writes a file to disk when it is closed if it was truncated to zero, even if
                // it was empty before.
                if status.size > 0 { try descriptor.truncate(to: 0) }
                if let size { try descriptor.truncate(to: size) }
            }
        } catch {
            throw ObjectStorageError(error)
        }
    }

    func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
        do {
            return try descriptor.readPooled(count, at: offset)
        } catch let error as SystemError {
            throw ObjectStorageError(error)
        }
    }

    /// Writes bytes at an offset. Long runs of zeros are left out where the file has a hole anyway,
    /// so that a disk image of which little is used takes no more of the disk here than where it
    /// came from.
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws {
        do {
            try bytes.withUnsafeBytes { bytes in
                guard keepsHoles else { return try descriptor.write(bytes, at: offset) }
                for run in SparseRuns(bytes) {
                    try descriptor.write(
                        UnsafeRawBufferPointer(rebasing: bytes[run]), at: offset + Int64(run.lowerBound))
                }
            }
        } catch let error as SystemError {
            throw ObjectStorageError(error)
        }
    }

    /// Reports that all bytes before `end` have been written.
    func isWritten(upTo end: Int64) throws {
        do throws(SystemError) {
            try window.withLock { window throws(SystemError) in try window.hasWritten(upTo: end, of: descriptor) }
        } catch {
            throw ObjectStorageError(error)
        }
    }

    /// Sets the attributes of the file. A file system that does not support them is no error.
    ///
    /// - Parameter modified: The modification time; nil to leave it unchanged.
    func setAttributes(modified: FileTime?, isExecutable: Bool) {
        if let modified { try? descriptor.setModified(modified) }
        if isExecutable { try? descriptor.makeExecutable() }
    }

    func synchronize() throws {
        do throws(SystemError) {
            try descriptor.synchronize()
        } catch {
            throw ObjectStorageError(error)
        }
    }
}

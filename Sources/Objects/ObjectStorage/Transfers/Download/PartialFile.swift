import Synchronization
import SystemIO

/// The file that a download grows in. What an earlier run of the same download has left in it is used after its hash
/// was checked.
final class PartialFile: Sendable {
    let path: String
    /// Whether there may be chunks in it already.
    let hasLeftovers: Bool
    private let descriptor: FileDescriptor
    private let window = Mutex(PageWindow())

    /// - Parameter size: of the whole; nil for a file that is written at once, whatever is in it already.
    init(path: String, size: Int64?) throws {
        self.path = path
        do throws(SystemError) {
            descriptor = try FileDescriptor(path: path, [.readWrite, .create, .noFollow], mode: 0o600)
            let status = try descriptor.status()
            hasLeftovers = status.size > 0 && status.size == size
            if !hasLeftovers {
                // Of a file that was cut to nothing, even if it had nothing, ext4 writes all bytes out when it is closed.
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

    func write(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws {
        do {
            try bytes.withUnsafeBytes { try descriptor.write($0, at: offset) }
        } catch let error as SystemError {
            throw ObjectStorageError(error)
        }
    }

    /// Everything before `end` is in place.
    func isWritten(upTo end: Int64) throws {
        do throws(SystemError) {
            try window.withLock { window throws(SystemError) in try window.hasWritten(upTo: end, of: descriptor) }
        } catch {
            throw ObjectStorageError(error)
        }
    }

    /// As far as the file system can: the bytes are what counts.
    ///
    /// - Parameter modified: nil leaves the time as it is.
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

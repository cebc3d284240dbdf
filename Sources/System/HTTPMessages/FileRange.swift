import Glibc

/// A range of an open file that is sent as a body. The file must not become shorter than the range
/// while it is sent.
///
/// A range without an owner is sent with sendfile(2), which passes references to the pages of the
/// file: the client receives what the pages hold when they leave the machine, which can be long
/// after the response counts as sent. The bytes of such a range must never change. A range with an
/// owner is copied, and its bytes may change once the owner is released.
package final class FileRange: Sendable {
    package let descriptor: Int32
    package let offset: Int64
    package let length: Int
    /// The object that is released once the range was sent or will not be sent.
    private let owner: (any Sendable)?

    /// Whether the bytes are copied before they are passed to the system.
    package var isCopied: Bool { owner != nil }

    /// Creates a range with a duplicate of the descriptor, so the caller may close the original at
    /// once.
    ///
    /// - Throws: `.invalidMessage` for a negative range, or if the process has no descriptor left.
    package convenience init(duplicating descriptor: Int32, offset: Int64 = 0, length: Int) throws {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw HTTPError(.invalidMessage, "Cannot duplicate the file's descriptor: \(errorText(errno)).")
        }
        try self.init(owning: copy, offset: offset, length: length)
    }

    /// Creates a range that owns the descriptor and closes it when it is released.
    ///
    /// - Parameter owner: An object that keeps the range's bytes unchanged for as long as it lives.
    /// - Throws: `.invalidMessage` for a negative range.
    package init(owning descriptor: Int32, offset: Int64 = 0, length: Int, owner: (any Sendable)? = nil) throws {
        self.owner = owner
        self.descriptor = descriptor
        self.offset = offset
        self.length = length
        guard offset >= 0, length >= 0, !offset.addingReportingOverflow(Int64(length)).overflow else {
            throw HTTPError(.invalidMessage, "A span of a file has a negative offset or length.")
        }
    }

    deinit { close(descriptor) }

    /// Fills the buffer from the range, starting `position` bytes into it.
    ///
    /// - Returns: The number of bytes; 0 at the end of the range; -1 if the file cannot be read or
    ///   has become shorter.
    package func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let wanted = min(buffer.count, length - position)
        guard wanted > 0 else { return 0 }
        while true {
            let count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset) + off_t(position))
            if count > 0 { return count }
            if count < 0, errno == EINTR { continue }
            return -1
        }
    }
}

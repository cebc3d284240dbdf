import Glibc

/// A span of an open file that is sent as a body. The file must not shrink below the span while it is sent.
///
/// A span without an owner goes to the socket by sendfile(2), which hands over references to the
/// pages of the file: the client receives what the pages hold when they leave the machine, which
/// can be long after the response counts as sent. The bytes of such a span must never change. A
/// span with an owner is copied, and its bytes may change once the owner is released.
package final class FileRange: Sendable {
    package let descriptor: Int32
    package let offset: Int64
    package let length: Int
    /// Released once the span is sent, or will not be.
    private let owner: (any Sendable)?

    /// Whether the bytes are copied before they are handed to the system.
    package var isCopied: Bool { owner != nil }

    /// Holds its own duplicate of the descriptor, so the caller may close theirs at once. Throws `.invalidMessage` for
    /// a negative span and where no descriptor is left.
    package convenience init(duplicating descriptor: Int32, offset: Int64 = 0, length: Int) throws {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw HTTPError(.invalidMessage, "Cannot duplicate the file's descriptor: \(errorText(errno)).")
        }
        try self.init(owning: copy, offset: offset, length: length)
    }

    /// Closes the descriptor at its end. Throws `.invalidMessage` for a negative span.
    ///
    /// - Parameter owner: Keeps the span's bytes as they are for as long as it lives.
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

    /// Fills the buffer from the span, beginning `position` bytes into it; 0 at its end, -1 where the file cannot be
    /// read or has become shorter.
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

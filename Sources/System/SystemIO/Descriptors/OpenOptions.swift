import CLinux
import Glibc

/// The flags for opening a file. Descriptors are always close-on-exec and never become a
/// controlling terminal.
package struct OpenOptions: OptionSet, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let read = OpenOptions(rawValue: O_RDONLY | O_NOCTTY)
    package static let write = OpenOptions(rawValue: O_WRONLY | O_NOCTTY)
    package static let readWrite = OpenOptions(rawValue: O_RDWR | O_NOCTTY)
    package static let append = OpenOptions(rawValue: O_APPEND)
    package static let create = OpenOptions(rawValue: O_CREAT)
    /// Fails if the name exists. Used together with `create`.
    package static let exclusive = OpenOptions(rawValue: O_EXCL)
    package static let truncate = OpenOptions(rawValue: O_TRUNC)
    package static let directory = OpenOptions(rawValue: O_DIRECTORY)
    package static let noFollow = OpenOptions(rawValue: O_NOFOLLOW)
    /// Opens a FIFO or device without waiting for its other end.
    package static let nonBlocking = OpenOptions(rawValue: O_NONBLOCK)
}

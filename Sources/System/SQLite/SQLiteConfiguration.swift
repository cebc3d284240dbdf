/// How a connection is opened.
package struct SQLiteConfiguration: Sendable, Hashable {
    /// When a commit reaches the disk (https://sqlite.org/pragma.html#pragma_synchronous).
    package enum Synchronous: String, Sendable {
        /// A power cut may damage the file. For throwaway databases.
        case off = "OFF"
        /// With a WAL, a power cut may undo the latest commits but never damages the file.
        case normal = "NORMAL"
        /// A commit that returned is on the disk.
        case full = "FULL"
    }

    /// Opens an existing file, and refuses every change.
    package var isReadOnly = false
    package var synchronous = Synchronous.full
    /// The most memory that the page cache takes.
    package var cacheKiB = 2048
    /// How much of the file is read by memory mapping instead of copying; 0 turns it off.
    package var memoryMapBytes: Int64 = 0
    /// How long a statement waits for another connection's lock before it fails with `.busy`.
    package var busyTimeoutMilliseconds: Int32 = 5000
    /// The WAL's size after which a commit moves it into the file; 0 leaves that to `checkpoint()`.
    package var automaticCheckpointPages: Int32 = 1000
    /// The page size of a new file: a power of two from 512 to 65536.
    package var pageSize = 4096
    package var enforcesForeignKeys = true
    /// SQLite's name of what keeps the file; nil: the operating system. `memdb` keeps files by name in memory, each as long as
    /// any connection to it is open, and has no WAL.
    package var fileSystem: String?

    package init() {}

    /// The configuration of a connection that only reads a database which another connection writes.
    package var readOnly: SQLiteConfiguration {
        var copy = self
        copy.isReadOnly = true
        return copy
    }
}

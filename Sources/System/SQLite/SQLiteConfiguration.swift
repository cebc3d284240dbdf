/// The settings of a connection.
package struct SQLiteConfiguration: Sendable, Hashable {
    /// The durability of a commit (https://sqlite.org/pragma.html#pragma_synchronous).
    package enum Synchronous: String, Sendable {
        /// A power failure may damage the file. For databases that can be discarded.
        case off = "OFF"
        /// A power failure may undo the latest commits but, in WAL mode, never damages the file.
        case normal = "NORMAL"
        /// A commit is on disk when it returns.
        case full = "FULL"
    }

    /// Whether an existing file is opened for reading only, so that every change is refused.
    package var isReadOnly = false
    package var synchronous = Synchronous.full
    /// The maximum size of the page cache in KiB.
    package var cacheKiB = 2048
    /// The number of bytes of the file that are read by memory mapping instead of copying; 0
    /// disables mapping.
    package var memoryMapBytes: Int64 = 0
    /// The time that a statement waits for another connection's lock before it fails with `.busy`.
    package var busyTimeoutMilliseconds: Int32 = 5000
    /// The number of pages in the WAL at which a commit starts a checkpoint; 0 leaves checkpoints
    /// to `checkpoint()`.
    package var automaticCheckpointPages: Int32 = 1000
    /// The page size of a new file: a power of two from 512 to 65536.
    package var pageSize = 4096
    package var enforcesForeignKeys = true
    /// The name of the SQLite VFS that stores the file; nil for the operating system's.
    ///
    /// `memdb` keeps named files in memory, each for as long as a connection to it is open, and has
    /// no WAL.
    package var fileSystem: String?

    package init() {}

    /// The configuration of a connection that only reads a database that another connection writes.
    package var readOnly: SQLiteConfiguration {
        var copy = self
        copy.isReadOnly = true
        return copy
    }
}

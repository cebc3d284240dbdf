/// The version of a file as `stat` describes it.
package struct Stamp: Hashable, Sendable {
    /// The identity of a file on one machine. A file system gives the number of a deleted file to a
    /// new one, so an equal id alone does not prove that a file is the same.
    package struct File: Hashable, Sendable {
        package var device: UInt64
        package var inode: UInt64

        package init(device: UInt64, inode: UInt64) {
            self.device = device
            self.inode = inode
        }
    }

    /// A time of the file system's clock. Only compared for equality.
    package struct Time: Hashable, Sendable {
        package var seconds: Int64
        package var nanoseconds: Int32

        package init(seconds: Int64, nanoseconds: Int32) {
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }
    }

    package var file: File
    package var size: Int64
    package var modified: Time
    package var changed: Time

    package init(file: File, size: Int64, modified: Time, changed: Time) {
        self.file = file
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// Whether this is the same file with, as far as size and time of modification show, the same
    /// contents. A rename or a new attribute changes only `changed`.
    package func hasContents(of other: Stamp) -> Bool {
        file == other.file && size == other.size && modified == other.modified
    }
}

package import SystemIO

/// The file system calls that a task folder is made of. Paths are relative to the root, "" is the root itself, and none
/// may leave it or pass a link. Two implementations: the kernel's, and one in memory that is as strict.
package protocol FolderDisk: AnyObject, Sendable {
    /// Finds the root by its path again; all later calls mean the directory found. `.notFound` where there is none.
    func openRoot() throws(SystemError) -> RootIdentity

    /// Closes what is kept open between calls, which would keep the file system busy. The next call
    /// opens it again, and throws `.unreachable` where another directory has the root's path by
    /// then.
    func release()

    /// Whether there is something to release.
    var isOpen: Bool { get }

    /// Gives each entry of a directory, with its status where `wantsStatus` says so. Entries that vanish meanwhile are
    /// left out; any other failure means that the content is unknown, and is thrown.
    ///
    /// - Parameter watching: arms a watch before anything is listed. That this fails is told in the result.
    func visit(
        _ directory: String, watching: Bool, wantsStatus: (DirectoryEntry) -> Bool,
        _ body: (DirectoryEntry, FileStatus?) -> Void
    ) throws(SystemError) -> Result<Int32?, SystemError>

    /// The same disk for calls that follow upon each other at once, as for many files of one
    /// directory: what was found of the way to one file serves for the next. Not to be kept.
    func together() -> Self

    /// About the name itself, links not followed.
    func status(_ path: String) throws(SystemError) -> FileStatus

    /// Reads a regular file of at most `limit` bytes, with its status before and after; anything else is refused.
    func read(_ path: String, limit: Int) throws(SystemError) -> DiskReading

    /// Opens a file that need not be regular, without waiting for anybody.
    func open(_ path: String, _ options: OpenOptions) throws(SystemError) -> FileDescriptor
    /// Where this process can open a file that is there by itself.
    func absolutePath(of path: String) throws(SystemError) -> String
    /// Of a file that `open` gave, also when it has no name any more; `inode` is what it had when it was opened.
    func status(of descriptor: borrowing FileDescriptor, inode: UInt64) throws(SystemError) -> FileStatus

    /// Writes a new file in `directory` under a temporary name and gives its path; nothing is left where it fails.
    func writeTemporary(
        in directory: String, _ bytes: [UInt8], mode: UInt32?, attributes: [FileAttribute], synchronize: Bool
    ) throws(SystemError) -> String

    /// Waits until the content of the file is on the disk.
    func synchronizeFile(_ path: String) throws(SystemError)

    /// Waits until the content of all these files is on the disk.
    func synchronizeFileSystems(of paths: [String]) throws(SystemError)

    /// Waits until the names in it are on the disk.
    func synchronizeDirectory(_ directory: String) throws(SystemError)

    /// Renames a file or directory. If the target is on another file system, as where a list's
    /// directory is a mount point, it is copied there and then removed, except in the mode
    /// `.exchanging`.
    ///
    /// - Returns: What was copied and the copy; nil after a rename.
    func move(_ path: String, to target: String, _ mode: Directory.RenameMode) throws(SystemError) -> CopiedMove?
    func setMode(_ path: String, _ mode: UInt32) throws(SystemError)
    func remove(_ path: String) throws(SystemError)
    /// A directory and all in it; fine where it is not there.
    func removeTree(_ path: String) throws(SystemError)
    func makeDirectories(_ path: String) throws(SystemError)
    /// Only an empty one.
    func removeDirectory(_ path: String) throws(SystemError)

    /// The extended attributes in the namespace `user`; none where the file system has none.
    func attributes(_ path: String) throws(SystemError) -> [FileAttribute]
    /// False where the file system has none, or another file is there.
    ///
    /// - Parameter inode: of the file that is meant; nil: whichever is there.
    func setAttribute(_ path: String, _ attribute: FileAttribute, of inode: UInt64?) throws(SystemError) -> Bool

    /// A name that no file has yet, short enough for any use.
    func uniqueName() -> String

    func startWatching() throws(SystemError)
    func unwatch(_ watch: Int32)
    func takeEvents() throws(SystemError) -> [InotifyEvent]
    /// Until `takeEvents` has something.
    func waitForEvents() async throws
}

extension FolderDisk {
    package func together() -> Self { self }

    /// Does what `move` does.
    package func rename(_ path: String, to target: String, _ mode: Directory.RenameMode) throws(SystemError) {
        _ = try move(path, to: target, mode)
    }
}

/// A file's content between two looks at its status.
package struct DiskReading: Sendable {
    package var bytes: [UInt8]
    package var before: FileStatus
    package var after: FileStatus

    package init(bytes: [UInt8], before: FileStatus, after: FileStatus) {
        self.bytes = bytes
        self.before = before
        self.after = after
    }
}

/// An extended attribute.
package struct FileAttribute: Hashable, Sendable {
    package var name: String
    package var value: [UInt8]

    package init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }
}

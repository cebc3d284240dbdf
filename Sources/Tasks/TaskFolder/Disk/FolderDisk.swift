package import SystemIO

/// The file system calls that a task folder uses. Paths are relative to the root, whose own path is
/// "". No path may leave the root or pass through a link.
///
/// There are two implementations: the kernel's, and one in memory that is as strict.
package protocol FolderDisk: AnyObject, Sendable {
    /// Opens the root by its path; later calls use the directory that was found. Throws `.notFound`
    /// if there is none.
    func openRoot() throws(SystemError) -> RootIdentity

    /// Closes the descriptors that are kept open between calls, which would keep the file system
    /// busy.
    ///
    /// The next call opens the root again, and throws `.unreachable` if its path names another
    /// directory by then.
    func release()

    /// Whether `release` would close anything.
    var isOpen: Bool { get }

    /// Calls `body` with each entry of a directory, with its status if `wantsStatus` asks for it.
    /// Entries that vanish meanwhile are left out. Any other failure means that the contents are
    /// unknown, and is thrown.
    ///
    /// - Parameter watching: Whether to add a watch before the directory is listed. A failure to do
    ///   so is part of the result.
    func visit(
        _ directory: String, watching: Bool, wantsStatus: (DirectoryEntry) -> Bool,
        _ body: (DirectoryEntry, FileStatus?) -> Void
    ) throws(SystemError) -> Result<Int32?, SystemError>

    /// Returns the same disk for a series of calls, such as for many files of one directory:
    /// directories that were opened for one file are used for the next. The result must not be
    /// kept.
    func together() -> Self

    /// Returns the status of the name itself, without following links.
    func status(_ path: String) throws(SystemError) -> FileStatus

    /// Reads a regular file of at most `limit` bytes, with its status before and after. Throws for
    /// anything else.
    func read(_ path: String, limit: Int) throws(SystemError) -> DiskReading

    /// Opens a file, which need not be regular, without blocking.
    func open(_ path: String, _ options: OpenOptions) throws(SystemError) -> FileDescriptor
    /// Returns a path at which this process can open a file.
    func absolutePath(of path: String) throws(SystemError) -> String
    /// Returns the status of a file that `open` returned, even if it no longer has a name. `inode`
    /// is the inode from when it was opened.
    func status(of descriptor: borrowing FileDescriptor, inode: UInt64) throws(SystemError) -> FileStatus

    /// Writes a new file in `directory` under a temporary name, and returns its path. If that
    /// fails, nothing is left.
    func writeTemporary(
        in directory: String, _ bytes: [UInt8], mode: UInt32?, attributes: [FileAttribute], synchronize: Bool
    ) throws(SystemError) -> String

    /// Waits until the content of the file is on the disk.
    func synchronizeFile(_ path: String) throws(SystemError)

    /// Waits until the content of all these files is on the disk.
    func synchronizeFileSystems(of paths: [String]) throws(SystemError)

    /// Waits until the names in the directory are on the disk.
    func synchronizeDirectory(_ directory: String) throws(SystemError)

    /// Renames a file or directory.
    ///
    /// If the target is on another file system, for example because a list's directory is a mount
    /// point, it is copied there and then removed, except in the mode `.exchanging`.
    ///
    /// - Returns: The source and the copy if it was copied; nil after a rename.
    func move(_ path: String, to target: String, _ mode: Directory.RenameMode) throws(SystemError) -> CopiedMove?
    func setMode(_ path: String, _ mode: UInt32) throws(SystemError)
    func remove(_ path: String) throws(SystemError)
    /// Removes a directory and its contents, if it exists.
    func removeTree(_ path: String) throws(SystemError)
    func makeDirectories(_ path: String) throws(SystemError)
    /// Removes an empty directory.
    func removeDirectory(_ path: String) throws(SystemError)

    /// Returns the extended attributes in the namespace `user`; empty if the file system does not
    /// support them.
    func attributes(_ path: String) throws(SystemError) -> [FileAttribute]
    /// Sets an extended attribute. Returns false if the file system does not support them, or
    /// another file has the path.
    ///
    /// - Parameter inode: The inode of the file; nil for whichever file has the path.
    func setAttribute(_ path: String, _ attribute: FileAttribute, of inode: UInt64?) throws(SystemError) -> Bool

    /// Whether a file system, or another directory, is mounted at a directory.
    func isMountPoint(_ directory: String) throws(SystemError) -> Bool

    /// Returns a name that no file has, short enough for any use.
    func uniqueName() -> String

    func startWatching() throws(SystemError)
    func unwatch(_ watch: Int32)
    func takeEvents() throws(SystemError) -> [InotifyEvent]
    /// Waits until `takeEvents` has events.
    func waitForEvents() async throws
}

extension FolderDisk {
    package func together() -> Self { self }

    /// Whether a directory is on another file system than the one above it.
    func isOnOtherFileSystem(_ directory: String) throws(SystemError) -> Bool {
        let parent = directory.split(separator: "/").dropLast().joined(separator: "/")
        return try status(directory).device != status(parent).device
    }

    /// Renames a file or directory like `move`.
    package func rename(_ path: String, to target: String, _ mode: Directory.RenameMode) throws(SystemError) {
        _ = try move(path, to: target, mode)
    }
}

/// A file's content, with its status before and after reading.
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

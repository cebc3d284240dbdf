package import SystemIO

/// Tells whether a list is covered, from its path, its task files, and the directories in it.
package typealias CoverTest = (TaskPath, [ScannedFile], Set<TaskPath>) -> Bool

/// A tree of task files and their attachments. It handles paths and bytes without interpreting the
/// bytes.
///
/// All calls except `waitForEvents` block for as long as the disk takes. Only one caller at a time
/// may call `scan` and the methods for events; the other methods may run concurrently. No call
/// follows a symbolic link or leaves the tree.
package protocol TaskFolder: AnyObject, Sendable {
    // MARK: Root

    /// Examines the root again by its path; throws `.rootMissing` if there is none.
    ///
    /// Call it before trusting any absence, and after the event `.rootChanged`. Later calls use the
    /// directory that was found.
    func rootState() throws(FolderError) -> RootState

    /// Writes the marker, replacing an existing one. This is never done implicitly.
    func claim(_ marker: RootMarker) throws(FolderError)

    /// Closes the descriptors that are kept open between calls, so that the file system can be
    /// unmounted. Watches stay, and do not keep it busy.
    ///
    /// The next call opens the directory again, and fails if its path names another directory by
    /// then.
    func release()

    /// Whether `release` would close anything.
    var isOpen: Bool { get }

    // MARK: Scan

    /// Walks the tree, using names and stat only, and calls `body` with each file once, in no
    /// particular order.
    ///
    /// - Parameter isCovered: Tells whether another directory is in the place of a list. Such a
    ///   list counts as unreadable, and until the next scan with such a test all calls fail for it
    ///   with `.blockedParent`. Nil keeps what the last test has found.
    func scan(
        _ purpose: ScanPurpose, isCovered: CoverTest?, _ body: (ScannedFile) -> Void
    ) throws(FolderError) -> FolderScan

    /// The lists that the last scan found covered.
    var coveredLists: Set<TaskPath> { get }

    /// Returns the mark of a list's directory; nil if it has none.
    func listMark(_ directory: TaskPath) throws(FolderError) -> String?

    /// Marks a list's directory. Returns false if the file system does not support that.
    func setListMark(_ directory: TaskPath, to mark: String) throws(FolderError) -> Bool

    /// Whether a file system, or another directory, is mounted at a directory.
    func isMountPoint(_ directory: TaskPath) throws(FolderError) -> Bool

    // MARK: Files

    /// Returns the stamp of a file; nil if it does not exist. Throws `.wrongKind` for anything but
    /// a regular file.
    func stamp(_ path: TaskPath) throws(FolderError) -> FileStamp?

    /// Returns the stamps of many files.
    func stamps(_ paths: [TaskPath]) -> [Result<FileStamp?, FolderError>]

    /// Returns one consistent state of a file of at most 1 MiB, with its stamp. Throws `.unstable`
    /// if writers do not pause.
    func read(_ path: TaskPath) throws(FolderError) -> TaskFileContent

    /// Writes each file completely or not at all. All written files are durable when this returns.
    ///
    /// There is one result for each write, in order, and the failure of one does not stop the
    /// others. The directories of the files must exist: a directory that was just renamed is not
    /// recreated.
    func write(_ writes: [FolderWrite]) -> [Result<WriteOutcome, FolderError>]

    /// Renames files or directories one after the other, and never replaces anything. All renames
    /// are durable when this returns.
    ///
    /// There is one result for each move, in order, and the failure of one does not stop the others.
    /// The target directory of a file must exist: a directory that was just renamed is not
    /// recreated. The parents of a directory's new place are created.
    func move(_ moves: [FolderMove]) -> [Result<MoveOutcome, FolderError>]

    /// Swaps the names of two directories of attachments. If the file system cannot do that in one
    /// step, one of them has a third name for a moment.
    func exchange(_ path: TaskPath, _ other: TaskPath) throws(FolderError)

    // MARK: Directories

    /// Creates the directory and its parents, if they do not exist.
    func makeDirectory(_ path: TaskPath) throws(FolderError)

    /// Removes a directory if it is empty. Returns whether it is gone. Temporary files of failed
    /// writes do not count; they are moved to `.ferry/recovered`.
    func removeDirectoryIfEmpty(_ path: TaskPath) throws(FolderError) -> Bool

    /// Returns the time when an entry was last moved into or out of a directory, or its mode
    /// changed; nil if it does not exist.
    func directoryChanged(_ path: TaskPath) -> FileTime?

    // MARK: Trash

    /// Moves files or directories together into a new entry of `.ferry/trash`. If one of them is
    /// not as expected, nothing is moved.
    ///
    /// - Parameter name: A name from `nextTrashName`, for callers that must know it in advance.
    func trash(_ items: [TrashItem], as name: String) throws(FolderError) -> TrashOutcome

    /// Returns a name for a new entry. Names sort in the order of their creation.
    func nextTrashName() -> String

    /// Returns the entries, oldest first.
    func trashEntries() throws(FolderError) -> [TrashEntry]

    /// Returns the files in the last directory of an entry, except those with names that cannot be
    /// synced; empty if the entry or directory does not exist.
    func trashedFiles(_ entry: TrashEntry) throws(FolderError) -> [(name: String, stamp: FileStamp)]

    /// Moves a file of an entry to `target`, whose directory is created if necessary. Returns false
    /// if the file does not exist, or the target does.
    func takeFromTrash(_ entry: TrashEntry, _ name: String, to target: TaskPath) throws(FolderError) -> Bool

    /// Moves missing files back that were moved to the trash although they had been saved just
    /// before.
    ///
    /// Such a file is normally moved back at once; it is left in the trash if the process died or
    /// its directory was renamed. A file that cannot be moved back, for example because its name is
    /// taken, stays in the trash.
    ///
    /// - Parameter missing: The known stamp of each file.
    /// - Returns: The paths that were moved back.
    func takeBackFromTrash(_ missing: [TaskPath: FileStamp]) throws(FolderError) -> [TaskPath]

    /// Deletes an entry permanently, if it exists.
    func purge(_ entry: TrashEntry) throws(FolderError)

    // MARK: Recovered files

    /// Returns the names in `.ferry/recovered`, each of which is used only once: files, or
    /// directories that were named like temporary files.
    func recoveredNames() throws(FolderError) -> [String]

    /// Deletes an entry of `.ferry/recovered` permanently with its contents, if it exists.
    func removeRecovered(_ name: String) throws(FolderError)

    // MARK: Identity

    /// Returns the extended attribute `user.ferry.id`; nil if the file has none.
    func mark(_ path: TaskPath) throws(FolderError) -> FileMark?

    /// Sets the extended attribute and returns the new stamp; nil if the file system does not
    /// support such attributes.
    ///
    /// - Parameter before: The stamp of the content that was read. If the file has other content by
    ///   now, this stamp is returned.
    func setMark(
        _ path: TaskPath, to mark: FileMark, of before: FileStamp
    ) throws(FolderError) -> FileStamp?

    /// Whether files can have the attribute, as far as that can be determined by setting it on the
    /// marker.
    var keepsIdentifiers: Bool { get }

    /// Makes the content and the names of these files durable, as far as the disk can.
    ///
    /// - Returns: The files that do not exist. Content that was renamed may not be on the disk.
    @discardableResult
    func synchronize(_ paths: [TaskPath]) -> Set<TaskPath>

    // MARK: Attachments

    /// Opens a file of any size for reading. After reading, check `isUnchanged`.
    func openSnapshot(_ path: TaskPath) throws(FolderError) -> FileSnapshot

    /// Opens or creates a file in `.ferry/incoming`, on the tree's own file system, for a download
    /// or a copy in progress. It survives a restart, and never contains a displaced file. `name`
    /// must be a valid name.
    func openIncoming(_ name: String) throws(FolderError) -> FileDescriptor

    /// Returns a path at which this process can open a file, for moving large amounts of data.
    func absolutePath(of path: TaskPath) throws(FolderError) -> String

    /// Returns a path at which this process can open an incoming file.
    func absolutePath(ofIncoming name: String) throws(FolderError) -> String

    func incomingNames() throws(FolderError) -> [String]

    /// Puts incoming files into their places like `write`. They are durable before they become
    /// visible, and share their syncs. A file whose place is not as expected stays where it is.
    func placeIncoming(_ files: [IncomingFile]) -> [Result<WriteOutcome, FolderError>]

    /// Removes an incoming file, if it exists.
    func removeIncoming(_ name: String) throws(FolderError)

    // MARK: Events

    /// Starts collecting events; each scan with a watching purpose adds the watches. Throws
    /// `.limit` if this user has no watch queue left, in which case each such scan tries again.
    func startWatching() throws(FolderError)

    /// Whether the last watching scan could watch every directory. Otherwise only scans find all
    /// changes.
    var isFullyWatched: Bool { get }

    /// Returns the available events in order, a bounded number at once.
    func takeEvents() throws(FolderError) -> [FolderEvent]

    /// Waits until `takeEvents` has events, at no cost meanwhile. Throws CancellationError when
    /// cancelled.
    func waitForEvents() async throws
}

extension TaskFolder {
    package func scan(_ purpose: ScanPurpose, _ body: (ScannedFile) -> Void) throws(FolderError) -> FolderScan {
        try scan(purpose, isCovered: nil, body)
    }

    /// Returns the id of the task that the attribute `user.ferry.id` names; nil if the file has none.
    package func identifier(_ path: TaskPath) throws(FolderError) -> String? { try mark(path)?.task }

    /// Renames one file or directory.
    package func move(
        _ path: TaskPath, to target: TaskPath, expecting expectation: FileExpectation
    ) throws(FolderError) -> MoveOutcome {
        guard let result = move([FolderMove(path, to: target, expecting: expectation)]).first else {
            throw FolderError(.notFound, "\(path): nothing was moved")
        }
        return try result.get()
    }

    package func trash(_ items: [TrashItem]) throws(FolderError) -> TrashOutcome {
        try trash(items, as: nextTrashName())
    }

    /// Puts an incoming file into its place.
    package func placeIncoming(
        _ name: String, at path: TaskPath, expecting expectation: FileExpectation
    ) throws(FolderError) -> WriteOutcome {
        let results = placeIncoming([IncomingFile(name: name, path: path, expecting: expectation)])
        guard let result = results.first else { throw FolderError(.notFound, "\(path): nothing was placed") }
        return try result.get()
    }
}

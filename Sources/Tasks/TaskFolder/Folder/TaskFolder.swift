package import SystemIO

/// A tree of task files and their attachments. It knows paths and bytes and nothing of what the bytes mean.
///
/// All calls but `waitForEvents` block for as long as the disk takes. One caller at a time for `scan` and the events;
/// the others may run beside them. Nothing here follows a symbolic link or leaves the tree.
package protocol TaskFolder: AnyObject, Sendable {
    // MARK: Root

    /// Looks at the root anew, by its path; `.rootMissing` where there is none. Call it before trusting any absence,
    /// and after the event `.rootChanged`. From then on all calls mean the directory that was found.
    func rootState() throws(FolderError) -> RootState

    /// Writes the marker, replacing one that is there. Never done implicitly.
    func claim(_ marker: RootMarker) throws(FolderError)

    /// Closes what is kept open between calls, so that the file system can be unmounted; watches
    /// stay, and do not keep it busy. The next call opens the directory again, and fails where
    /// another one has its path by then.
    func release()

    /// Whether something is open that `release` would close.
    var isOpen: Bool { get }

    // MARK: Scan

    /// Walks the tree by names and stat only and gives each file once, in no order.
    func scan(_ purpose: ScanPurpose, _ body: (ScannedFile) -> Void) throws(FolderError) -> FolderScan

    // MARK: Files

    /// Nil for a path that does not exist; anything but a regular file is `.wrongKind`.
    func stamp(_ path: TaskPath) throws(FolderError) -> FileStamp?

    /// The same of many.
    func stamps(_ paths: [TaskPath]) -> [Result<FileStamp?, FolderError>]

    /// One consistent state of a file of at most 1 MiB, with its stamp; `.unstable` where writers do not pause.
    func read(_ path: TaskPath) throws(FolderError) -> TaskFileContent

    /// Writes each file in one step or not at all, the lot of them durable when this returns. One
    /// result for each write, in order; the failure of one does not stop the others. Their
    /// directories must be there: one that has just got another name is not made anew.
    func write(_ writes: [FolderWrite]) -> [Result<WriteOutcome, FolderError>]

    /// Renames a file or directory and never replaces anything. The directory that a file goes to
    /// must be there: one that has just got another name is not made anew. Those above a
    /// directory's new place are made.
    func move(
        _ path: TaskPath, to target: TaskPath, expecting expectation: FileExpectation
    ) throws(FolderError) -> MoveOutcome

    /// Exchanges the names of two directories of attachments. Where the file system cannot do that
    /// in one step, one of them has a third name meanwhile.
    func exchange(_ path: TaskPath, _ other: TaskPath) throws(FolderError)

    // MARK: Directories

    /// Makes the directory and those above it; fine where it exists.
    func makeDirectory(_ path: TaskPath) throws(FolderError)

    /// True where it is gone afterwards; false where anything is in it but temporary files of
    /// writes that failed, which go to `.ferry/recovered`.
    func removeDirectoryIfEmpty(_ path: TaskPath) throws(FolderError) -> Bool

    /// When something last moved into or out of a directory, or its mode changed; nil where there is none.
    func directoryChanged(_ path: TaskPath) -> FileTime?

    // MARK: Trash

    /// Moves files or directories together into a new entry of `.ferry/trash`. Where one of them is not what was
    /// expected, nothing is moved.
    ///
    /// - Parameter name: from `nextTrashName`, for who has to know it before.
    func trash(_ items: [TrashItem], as name: String) throws(FolderError) -> TrashOutcome

    /// For an entry to come. Names are in the order in which they are made.
    func nextTrashName() -> String

    /// The entries, oldest first.
    func trashEntries() throws(FolderError) -> [TrashEntry]

    /// The files in the last directory of an entry, but for those whose names cannot be synced;
    /// none where there is no such entry or directory.
    func trashedFiles(_ entry: TrashEntry) throws(FolderError) -> [(name: String, stamp: FileStamp)]

    /// Moves one of these to `target`, whose directory is made if it is not there; false where
    /// there is no such file, or something is there already.
    func takeFromTrash(_ entry: TrashEntry, _ name: String, to target: TaskPath) throws(FolderError) -> Bool

    /// Puts those of missing files back that moves to the trash took away although they had been
    /// saved since, and did not put back themselves, since the process died or a directory got
    /// another name. Answers which are back. What cannot be put back, as where something is there
    /// already, stays.
    ///
    /// - Parameter missing: what is known of each.
    func takeBackFromTrash(_ missing: [TaskPath: FileStamp]) throws(FolderError) -> [TaskPath]

    /// Deletes an entry for good; fine where it is gone already.
    func purge(_ entry: TrashEntry) throws(FolderError)

    // MARK: Put aside

    /// What is in `.ferry/recovered`, by names that are used once only: files, or directories that
    /// were named like temporary files.
    func recoveredNames() throws(FolderError) -> [String]

    /// Deletes one of them for good, with all that is in it; fine where it is gone already.
    func removeRecovered(_ name: String) throws(FolderError)

    // MARK: Identity

    /// The extended attribute `user.ferry.id`; nil where there is none.
    func identifier(_ path: TaskPath) throws(FolderError) -> String?

    /// Sets it and gives the new stamp; nil where the file system has no such attributes.
    ///
    /// - Parameter before: of the content that was read. If the file has another by now, that stamp is the answer.
    func setIdentifier(
        _ path: TaskPath, to identifier: String, of before: FileStamp
    ) throws(FolderError) -> FileStamp?

    /// Whether files here can have one, as far as that can be found out. Sets it on the marker.
    var keepsIdentifiers: Bool { get }

    /// Makes the content and the names of these files survive a power cut, as far as the disk can.
    ///
    /// - Returns: those that are not there: content that has another name by now may not be on the disk.
    @discardableResult
    func synchronize(_ paths: [TaskPath]) -> Set<TaskPath>

    // MARK: Attachments

    /// Opens a file of any size for reading. Whoever has read it to the end compares `isUnchanged`.
    func openSnapshot(_ path: TaskPath) throws(FolderError) -> FileSnapshot

    /// Opens, or makes, a file in `.ferry/incoming` on the tree's own file system, for a download
    /// or a copy under way. It outlives a restart, and never has what was displaced. `name` is a
    /// valid name.
    func openIncoming(_ name: String) throws(FolderError) -> FileDescriptor

    /// Where this process can open a file that is there by itself, for whoever moves many bytes.
    func absolutePath(of path: TaskPath) throws(FolderError) -> String

    /// The same of an incoming file.
    func absolutePath(ofIncoming name: String) throws(FolderError) -> String

    func incomingNames() throws(FolderError) -> [String]

    /// Puts incoming files into their places as `write` does, on the disk before they are seen;
    /// they share their syncs. One that is not as expected stays where it is.
    func placeIncoming(_ files: [IncomingFile]) -> [Result<WriteOutcome, FolderError>]

    /// Fine where it is gone already.
    func removeIncoming(_ name: String) throws(FolderError)

    // MARK: Events

    /// Begins to collect events; each `scan` to watch arms the watches from now on. `.limit` where
    /// this user has no watch queue left: go on without, each such scan asks again.
    func startWatching() throws(FolderError)

    /// Whether the last scan to watch could watch each directory; otherwise only scans find all changes.
    var isFullyWatched: Bool { get }

    /// The events that are there, in order; a bounded number of them at once.
    func takeEvents() throws(FolderError) -> [FolderEvent]

    /// Waits until `takeEvents` has something; costs nothing meanwhile. Throws CancellationError when cancelled.
    func waitForEvents() async throws
}

extension TaskFolder {
    package func trash(_ items: [TrashItem]) throws(FolderError) -> TrashOutcome {
        try trash(items, as: nextTrashName())
    }

    /// Puts one incoming file into its place.
    package func placeIncoming(
        _ name: String, at path: TaskPath, expecting expectation: FileExpectation
    ) throws(FolderError) -> WriteOutcome {
        let results = placeIncoming([IncomingFile(name: name, path: path, expecting: expectation)])
        guard let result = results.first else { throw FolderError(.notFound, "\(path): nothing was placed") }
        return try result.get()
    }
}

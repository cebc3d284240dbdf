/// A file or directory to move to the trash.
package struct TrashItem: Hashable, Sendable {
    package var path: TaskPath
    /// The state that the file must have; `.anything` for a directory.
    package var expecting: FileExpectation

    package init(path: TaskPath, expecting: FileExpectation) {
        self.path = path
        self.expecting = expecting
    }
}

/// The result of a move to the trash.
package enum TrashOutcome: Hashable, Sendable {
    case trashed(TrashEntry)
    /// Nothing was moved, because this item is not as expected. Nil if it does not exist.
    case changed(TaskPath, FileStamp?)
}

/// Files and directories that were moved to the trash together: `.ferry/trash/<name>` with the
/// items, and a file `origins` with the original path of each, one per line.
package struct TrashEntry: Hashable, Sendable {
    /// The name of the directory in the trash.
    package var name: String
    /// The original paths of the items, in the order of their removal.
    package var origins: [TaskPath]

    package init(name: String, origins: [TaskPath]) {
        self.name = name
        self.origins = origins
    }
}

/// Something to move to the trash.
package struct TrashItem: Hashable, Sendable {
    package var path: TaskPath
    /// For a directory `.anything`.
    package var expecting: FileExpectation

    package init(path: TaskPath, expecting: FileExpectation) {
        self.path = path
        self.expecting = expecting
    }
}

/// What became of a move to the trash.
package enum TrashOutcome: Hashable, Sendable {
    case trashed(TrashEntry)
    /// Not done, since this one is not as expected. Nil where it does not exist.
    case changed(TaskPath, FileStamp?)
}

/// Files and directories that went to the trash together: `.ferry/trash/<name>` with the items and
/// a file `origins` that has the path of each, a line an item.
package struct TrashEntry: Hashable, Sendable {
    /// Of the directory in the trash.
    package var name: String
    /// Where the items were, in the order of their removal.
    package var origins: [TaskPath]

    package init(name: String, origins: [TaskPath]) {
        self.name = name
        self.origins = origins
    }
}

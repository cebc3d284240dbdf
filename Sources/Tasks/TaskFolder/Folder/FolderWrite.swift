/// The state that a file must have for a change to be made.
package enum FileExpectation: Hashable, Sendable {
    /// The name must be unused.
    case absent
    /// The file must be the version that was last read or written.
    case stamp(FileStamp)
    /// Any file, or none, is accepted.
    case anything
}

/// A file to write.
package struct FolderWrite: Sendable {
    package var path: TaskPath
    package var bytes: [UInt8]
    package var expecting: FileExpectation
    /// The value of the attribute `user.ferry.id`, on file systems with attributes.
    package var mark: FileMark?

    package init(path: TaskPath, bytes: [UInt8], expecting: FileExpectation, mark: FileMark? = nil) {
        self.path = path
        self.bytes = bytes
        self.expecting = expecting
        self.mark = mark
    }
}

/// A file or directory to rename.
package struct FolderMove: Sendable {
    package var path: TaskPath
    package var target: TaskPath
    package var expecting: FileExpectation

    package init(_ path: TaskPath, to target: TaskPath, expecting: FileExpectation) {
        self.path = path
        self.target = target
        self.expecting = expecting
    }
}

/// A file of `.ferry/incoming`, and the place to put it.
package struct IncomingFile: Sendable {
    package var name: String
    package var path: TaskPath
    package var expecting: FileExpectation
    /// Whether the file is made executable if it replaces one that is not. It otherwise gets the
    /// mode of the replaced file.
    package var isExecutable: Bool
    /// Whether the replaced file is moved to the trash, if the file system can exchange two files.
    /// A failure to do so does not fail the write.
    package var trashesReplaced: Bool

    package init(
        name: String, path: TaskPath, expecting: FileExpectation, isExecutable: Bool = false,
        trashesReplaced: Bool = false
    ) {
        self.name = name
        self.path = path
        self.expecting = expecting
        self.isExecutable = isExecutable
        self.trashesReplaced = trashesReplaced
    }
}

/// The result of a write.
package enum WriteOutcome: Hashable, Sendable {
    /// Written. An event whose file has this stamp is the echo of this write.
    case written(FileStamp)
    /// Not written, because the file is not as expected: read it and merge again. Nil if it does
    /// not exist.
    case changed(FileStamp?)
    /// Written, while another program saved the file and then moved, removed or edited the new
    /// version. The saved bytes came too late to be kept in place, and are an edit of the version
    /// before this write.
    case overtaken(FileStamp, saved: [UInt8])
}

/// The result of a move.
package enum MoveOutcome: Hashable, Sendable {
    /// Moved. The stamp is that of the file under its new name.
    case moved(FileStamp)
    /// Not moved, because the target exists.
    case exists
    /// Not moved, because the source is not as expected. Nil if it does not exist.
    case changed(FileStamp?)
}

/// A state of a task file.
package struct TaskFileContent: Hashable, Sendable {
    /// The maximum size of a task file that is read, in bytes.
    package static let limit = 1 << 20

    package var bytes: [UInt8]
    package var stamp: FileStamp

    package init(bytes: [UInt8], stamp: FileStamp) {
        self.bytes = bytes
        self.stamp = stamp
    }
}

/// What a file must be for a change to go ahead.
package enum FileExpectation: Hashable, Sendable {
    /// No such name yet.
    case absent
    /// Still the version that was read or written last.
    case stamp(FileStamp)
    /// Whatever is there, or nothing.
    case anything
}

/// One file to write.
package struct FolderWrite: Sendable {
    package var path: TaskPath
    package var bytes: [UInt8]
    package var expecting: FileExpectation
    /// For the attribute `user.ferry.id`, where the file system has attributes.
    package var identifier: String?

    package init(path: TaskPath, bytes: [UInt8], expecting: FileExpectation, identifier: String? = nil) {
        self.path = path
        self.bytes = bytes
        self.expecting = expecting
        self.identifier = identifier
    }
}

/// A file of `.ferry/incoming` and the place that it is for.
package struct IncomingFile: Sendable {
    package var name: String
    package var path: TaskPath
    package var expecting: FileExpectation
    /// Where it replaces a file, whose mode it takes: whether it can be run even if that could not.
    package var isExecutable: Bool
    /// Whether the file that it replaces goes to the trash, if the file system can exchange two
    /// files; a failure of that is no failure of the write.
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

/// What became of a write.
package enum WriteOutcome: Hashable, Sendable {
    /// Done; an event whose file has this stamp is our own echo.
    case written(FileStamp)
    /// Not done, since the file is not as expected: read it and merge again. Nil where it does not exist.
    case changed(FileStamp?)
    /// Done, in a moment in which somebody saved the file, and moved, removed or edited what was
    /// written: what was saved came too late to stand in its place, and is an edit of what the file
    /// said before.
    case overtaken(FileStamp, saved: [UInt8])
}

/// What became of a move.
package enum MoveOutcome: Hashable, Sendable {
    /// Done; the stamp of a file under its new name.
    case moved(FileStamp)
    /// Not done, the target exists.
    case exists
    /// Not done, the source is not as expected. Nil where it does not exist.
    case changed(FileStamp?)
}

/// One state of a task file.
package struct TaskFileContent: Hashable, Sendable {
    /// The longest task file that is read, in bytes.
    package static let limit = 1 << 20

    package var bytes: [UInt8]
    package var stamp: FileStamp

    package init(bytes: [UInt8], stamp: FileStamp) {
        self.bytes = bytes
        self.stamp = stamp
    }
}

package import TaskModel

/// A task file that was looked at.
package struct Observation: Hashable, Sendable {
    package var location: Location
    package var stamp: Stamp
    /// The task that the attribute `user.ferry.id` names.
    package var mark: TaskID?
    package var digest: ContentDigest
    /// Hashes of the lines that tell one text from another: those of the notes, or of the head of a
    /// file without notes.
    package var lines: Set<UInt64>

    package init(
        at location: Location, stamp: Stamp, mark: TaskID? = nil, digest: ContentDigest, lines: Set<UInt64> = []
    ) {
        self.location = location
        self.stamp = stamp
        self.mark = mark
        self.digest = digest
        self.lines = lines
    }
}

/// The file of a known task, as it was last read or written.
package struct KnownFile: Hashable, Sendable {
    package var task: TaskID
    package var location: Location
    package var stamp: Stamp
    package var digest: ContentDigest
    package var lines: Set<UInt64>

    package init(
        _ task: TaskID, at location: Location, stamp: Stamp, digest: ContentDigest, lines: Set<UInt64> = []
    ) {
        self.task = task
        self.location = location
        self.stamp = stamp
        self.digest = digest
        self.lines = lines
    }
}

/// A document without a file on this machine.
package struct UnfiledDocument: Hashable, Sendable {
    package var task: TaskID
    /// The location that the document asks for.
    package var location: Location
    package var digest: ContentDigest
    /// The time since the task's file was deleted at the location on this machine, if it was and the
    /// document is in the trash for that.
    package var deletedFor: Duration?

    package init(_ task: TaskID, at location: Location, digest: ContentDigest, deletedFor: Duration? = nil) {
        self.task = task
        self.location = location
        self.digest = digest
        self.deletedFor = deletedFor
    }
}

/// A task that was made of a new file on this machine a short while ago, and has no attachments yet.
package struct Newborn: Hashable, Sendable {
    package var age: Duration

    package init(age: Duration) { self.age = age }

    /// The age up to which a newborn task can turn out to be the new version of another one.
    package static let limit: Duration = .seconds(10)
}

/// The files that were looked at together, and the tasks that are known.
package struct ObservationBatch: Sendable {
    package var observations: [Observation]
    package var known: [KnownFile]
    /// Locations at which a look found nothing.
    package var vacant: Set<Location>
    /// Locations that cannot be looked at.
    package var unreachable: Set<Location>
    /// Whether missing files may have moved into a directory that cannot be listed. None counts as
    /// gone then.
    package var isHiding: Bool
    package var unfiled: [UnfiledDocument]
    package var newborns: [TaskID: Newborn]
    /// Whether the file system keeps the attribute `user.ferry.id`.
    package var keepsMarks: Bool
    /// Whether the server has reported all documents, so that a mark without a document has none.
    package var isServerCurrent: Bool

    package init(
        _ observations: [Observation], known: [KnownFile], vacant: Set<Location> = [],
        unreachable: Set<Location> = [], isHiding: Bool = false, unfiled: [UnfiledDocument] = [],
        newborns: [TaskID: Newborn] = [:],
        keepsMarks: Bool = true, isServerCurrent: Bool = true
    ) {
        self.observations = observations
        self.known = known
        self.vacant = vacant
        self.unreachable = unreachable
        self.isHiding = isHiding
        self.unfiled = unfiled
        self.newborns = newborns
        self.keepsMarks = keepsMarks
        self.isServerCurrent = isServerCurrent
    }
}

/// The task to which a file belongs.
package enum Identity: Hashable, Sendable {
    case known(TaskID, Evidence)
    /// A new task.
    case new
    /// Not known before these locations were looked at, too.
    case lookAgain([Location])
    /// The file names a task that the server may still report.
    case awaitsDocument(TaskID)
}

/// The result for a batch.
package struct Identities: Hashable, Sendable {
    /// The identity of each file.
    package var files: [Location: Identity] = [:]
    /// The known tasks whose files are gone.
    package var missing: Set<TaskID> = []
    /// Newborn tasks that go without a trace, with the tasks whose files theirs are.
    package var dissolved: [TaskID: TaskID] = [:]

    package init() {}
}

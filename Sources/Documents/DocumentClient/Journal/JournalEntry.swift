/// What the journal's order needs to know of one mutation; the content stays in the file.
struct JournalEntry: Sendable, Hashable {
    /// Grows with every append. A changed content gets a new number, so a number names one content for ever.
    let sequence: Int64
    /// Where it stands among the mutations of its document; kept when its content changes.
    let position: Int64
    /// The document's path.
    let path: String
    /// Mutations of one group take effect in one commit or not at all; a group's number is its first sequence.
    let group: Int64
    /// The encoded size, to fill commits.
    let bytes: Int
    let writeCount: Int
    /// Whether the base must be read before a precondition can be chosen.
    var needsRead: Bool
    var isUnderWay = false
    var trace = Trace.none
    /// How often a commit failed because of a document of its unit.
    var failures = 0
    var isParked = false
}

extension JournalEntry {
    /// What the remote may have of this content from earlier commits.
    enum Trace: Sendable, Hashable {
        /// Nothing.
        case none
        /// A commit with it was cut off, in this or an earlier run of the program. Only a read can tell.
        case open
        /// A read after that found nothing of it. The commit may still arrive late.
        case late
    }

    /// Whether no commit has, had or may still get this content to the remote.
    var isUnsent: Bool { !isUnderWay && trace == .none }
}

/// The largest commit that is sent.
struct CommitLimits: Sendable, Hashable {
    var writes = 450
    /// Well below the 4 MiB that a gRPC message may have by default.
    var bytes = 2 << 20
}

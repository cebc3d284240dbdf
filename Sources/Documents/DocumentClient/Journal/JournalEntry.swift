/// The properties of a mutation that determine the order of sending. The content stays in the file.
struct JournalEntry: Sendable, Hashable {
    /// The sequence number, which grows with every append. Changed content gets a new number, so a
    /// number always identifies the same content.
    let sequence: Int64
    /// The position among the mutations of its document, which is kept when its content changes.
    let position: Int64
    /// The document's path.
    let path: String
    /// The number of the group whose mutations take effect in one commit or not at all, which is
    /// its first sequence number; 0 for none.
    let group: Int64
    /// The encoded size, used to limit the size of commits.
    let bytes: Int
    let writeCount: Int
    /// Whether the base must be read before a precondition can be chosen.
    var needsRead: Bool
    var isUnderWay = false
    var trace = Trace.none
    /// The number of commits that failed because of a document of its unit.
    var failures = 0
    var isParked = false
}

extension JournalEntry {
    /// The possible effects of earlier commits with this content.
    enum Trace: Sendable, Hashable {
        /// The remote has nothing of it.
        case none
        /// A commit with it was interrupted, in this or an earlier run of the program. Only a read
        /// can show whether it took effect.
        case open
        /// A later read found nothing of it. The commit may still arrive late.
        case late
    }

    /// Whether no commit has brought, or may still bring, this content to the remote.
    var isUnsent: Bool { !isUnderWay && trace == .none }
}

/// The limits of one commit.
struct CommitLimits: Sendable, Hashable {
    var writes = 450
    /// The maximum size in bytes, well below the 4 MiB that a gRPC message may have by default.
    var bytes = 2 << 20
}

public import DocumentModel

/// How a client stands with its remote.
public struct ClientStatus: Sendable, Hashable {
    public enum Connection: Sendable, Hashable {
        /// `run` has not been called, or has ended.
        case stopped
        case connecting
        case online
        /// Not reachable, or not able to take anything; the sentence says which, and why. Tries again by itself.
        case offline(String)
        /// The remote does not accept the account's token. Call `signedIn` after signing in.
        case needsSignIn
        /// The state file belongs to another server, database or account, or the remote is older than what was seen of it.
        /// Nothing is sent or applied until `adoptRemote` is called.
        case otherRemote(String)
    }

    public var connection: Connection = .stopped
    /// Whether every watched query is as the remote has it.
    public var isCurrent = false
    /// Changes that are still to be sent.
    public var pendingCount = 0
    /// Changes that the remote refuses and that wait for a decision.
    public var parkedCount = 0
    /// When the oldest change that is still to be sent was made, in milliseconds of the local clock since 1970.
    public var oldestPendingMilliseconds: Int64?
    /// Why the state file cannot be written at the moment (disk full …); tried again by itself.
    public var storageProblem: String?
    /// Queries that the remote refuses to watch, with its reason.
    public var refusedQueries: [Query: String] = [:]
    /// The same of queries without which the client counts as current; see `DocumentDatabase.keep`.
    public var refusedOptionalQueries: [Query: String] = [:]

    public init() {}
}

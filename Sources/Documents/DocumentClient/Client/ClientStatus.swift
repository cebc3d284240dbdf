public import DocumentModel

/// The state of a client relative to its remote.
public struct ClientStatus: Sendable, Hashable {
    /// The state of the connection.
    public enum Connection: Sendable, Hashable {
        /// `run` has not been called, or has ended.
        case stopped
        case connecting
        case online
        /// The remote is not reachable, or not able to process requests; the sentence says why. The
        /// client retries automatically.
        case offline(String)
        /// The remote does not accept the account's token. Call `signedIn` after signing in.
        case needsSignIn
        /// The state file belongs to another server, database or account, or the remote lacks
        /// commits that the client has seen. Nothing is sent or applied until `adoptRemote` is
        /// called.
        case otherRemote(String)
    }

    /// The state of the connection.
    public var connection: Connection = .stopped
    /// Whether the results of every watched query are up to date with the remote.
    public var isCurrent = false
    /// The number of changes that have not been sent yet.
    public var pendingCount = 0
    /// The number of changes that the remote has rejected and that wait for a decision.
    public var parkedCount = 0
    /// The time of the oldest unsent change, in milliseconds of the local clock since 1970; nil if
    /// there is none.
    public var oldestPendingMilliseconds: Int64?
    /// The reason for which the state file cannot be written at the moment, such as a full disk;
    /// nil if it can. The client retries automatically.
    public var storageProblem: String?
    /// The queries that the remote refuses to watch, with its reasons.
    public var refusedQueries: [Query: String] = [:]
    /// The same of queries without which the client counts as current; see `DocumentDatabase.keep`.
    public var refusedOptionalQueries: [Query: String] = [:]

    /// Creates the status of a client that is not running.
    public init() {}
}

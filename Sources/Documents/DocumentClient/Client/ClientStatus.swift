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
    /// Whether the results of every watched query are up to date with the remote: all that was there
    /// when the client connected has come. What waits for the outcome of a commit has not.
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

extension ClientStatus {
    /// Takes over the counts of the journal.
    ///
    /// - Parameter oldest: Returns the time of the oldest unsent change. Called if that may have changed.
    mutating func count(_ journal: Journal, oldest: () -> Int64?) {
        let before = pendingCount
        pendingCount = journal.count - journal.parkedCount
        parkedCount = journal.parkedCount
        if pendingCount == 0 {
            oldestPendingMilliseconds = nil
        } else if oldestPendingMilliseconds == nil || pendingCount < before {
            oldestPendingMilliseconds = oldest()
        }
    }

    /// Records that the remote has answered.
    mutating func heardFromRemote() {
        switch connection {
        case .connecting, .offline, .stopped: connection = .online
        case .online, .needsSignIn, .otherRemote: break
        }
    }

    /// Records that the remote cannot be reached.
    mutating func wentOffline(_ error: RemoteError) {
        switch connection {
        case .connecting, .online, .offline, .stopped:
            let what = error.code == .overloaded ? "The server accepts no requests now" : "The server cannot be reached"
            connection = .offline("\(what): \(error.message)")
        case .needsSignIn, .otherRemote: break
        }
    }

    /// Records that the remote refuses to watch a query.
    mutating func refused(_ query: Query, _ error: RemoteError, isOptional: Bool) {
        let reason = "\(error.code): \(error.message)"
        if isOptional { refusedOptionalQueries[query] = reason } else { refusedQueries[query] = reason }
    }

    /// Whether the remote refuses to watch any query.
    var hasRefusals: Bool { !refusedQueries.isEmpty || !refusedOptionalQueries.isEmpty }

    /// Records that the remote watches queries.
    mutating func accepted(_ queries: some Sequence<Query>) {
        for query in queries {
            refusedQueries[query] = nil
            refusedOptionalQueries[query] = nil
        }
    }
}

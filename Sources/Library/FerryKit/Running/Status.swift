import DocumentClient

/// The state of the connection to the server.
public enum Connection: Sendable, Hashable {
    /// The `Ferry` is closed, or the state cannot be used.
    case stopped
    /// The server was not reached yet.
    case connecting
    /// The server was reached, and changes are exchanged.
    case online
    /// The server cannot be reached, for the reason given. It is tried again.
    case offline(String)
    /// Nobody is signed in, or the server does not accept the account any more.
    case needsSignIn
    /// The server is not the one that the state belongs to, or was restored to an earlier state.
    /// Nothing is exchanged.
    case otherServer(String)
}

/// The state of a `Ferry` relative to its server.
public struct Status: Sendable, Hashable {
    /// The state of the connection.
    public internal(set) var connection = Connection.stopped
    /// The number of writes that the server does not have yet.
    public internal(set) var pending = 0
    /// The number of writes that the server refuses.
    public internal(set) var refused = 0
    /// Whether the results of all watched queries are those of the server.
    public internal(set) var isCurrent = false
    /// The number of files that are being transferred or wait for that, paused ones included.
    public internal(set) var activeTransfers = 0

    init() {}

    /// Takes the state of the documents over.
    mutating func update(_ status: ClientStatus) {
        pending = status.pendingCount
        refused = status.parkedCount
        isCurrent = status.isCurrent
        connection =
            switch status.connection {
            case .stopped: .stopped
            case .connecting: .connecting
            case .online: .online
            case .offline(let reason): .offline(reason)
            case .needsSignIn: .needsSignIn
            case .otherRemote(let reason): .otherServer(reason)
            }
    }
}

/// A write that the server refuses.
public struct Refusal: Identifiable, Sendable {
    /// A number that identifies the write.
    public let id: Int64
    /// The path of the document.
    public let path: String
    /// The reason of the server.
    public let reason: String
    let client: DocumentDatabase

    /// Sends the write again.
    public func retry() async throws { try await FerryError.translating { try await client.retry(id) } }

    /// Discards the write, and the others of its batch. The document shows the server's version
    /// again.
    public func discard() async throws { try await FerryError.translating { try await client.discard(id) } }
}

package import SystemIO

/// How a client behaves, apart from where it keeps its state and what it talks to.
public struct ClientOptions: Sendable {
    public var policies = RebasePolicies()
    public var receipt: CommitReceipt?
    /// Names this copy in history. Only used when the state file is made; ids of a replica never change. Empty: made up.
    public var replicaID = ""
    /// Who the remote is: server, database and account in any fixed form. A state file remembers it; nil: not checked.
    public var remoteIdentity: String?
    /// How long a listen stream may be silent before it counts as dead.
    public var silence = Duration.seconds(120)
    /// Memory for pages of the state file.
    public var cacheKiB = 2048
    /// Whether the state file is searched for damaged rows when it is opened: after an error that `isDamage`.
    package var repairs = false
    package var surroundings = Surroundings.system
    /// As `SQLiteConfiguration.fileSystem`.
    package var fileSystem: String?

    public init() {}
}

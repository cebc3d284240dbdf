package import SystemIO

/// The settings of a client, apart from its state file and its remote.
public struct ClientOptions: Sendable {
    /// The rebase policies of the collections.
    public var policies = RebasePolicies()
    /// The document with which commits are signed; nil for none.
    public var receipt: CommitReceipt?
    /// Signs commits with transforms, unless `receipt` is set, with a document that is named after
    /// the replica; nil for none.
    public var receipts: CommitReceipts?
    /// The id that identifies this replica in history. If empty, an id is generated. Used only when
    /// the state file is created: the id of a replica never changes.
    public var replicaID = ""
    /// The identity of the remote: server, database and account in any fixed form. It is stored in
    /// the state file and compared when the file is opened; nil for no comparison.
    public var remoteIdentity: String?
    /// The time without messages after which a listen stream is considered dead.
    public var silence = Duration.seconds(120)
    /// The size of the state file's page cache in KiB.
    public var cacheKiB = 2048
    /// Whether the state file is searched for damaged rows when it is opened, which is useful after
    /// an error that `isDamage`.
    package var repairs = false
    package var environment = Environment.system
    /// The SQLite VFS of the state file; see `SQLiteConfiguration.fileSystem`.
    package var fileSystem: String?

    /// Creates the default settings.
    public init() {}
}

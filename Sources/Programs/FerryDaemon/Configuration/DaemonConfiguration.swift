import ObjectStorage
import SystemService

/// How a daemon runs. All paths are absolute.
struct DaemonConfiguration: Sendable, Hashable {
    var tasks: String
    var state: String
    var socket: String
    /// What other machines call this one.
    var deviceName = ""
    var logLevel = LogLevel.info
    /// Bytes a second for attachments; nil: no limit.
    var uploadLimit: Int?
    var downloadLimit: Int?
    /// Attachments up to this many bytes come by themselves; nil: all.
    var downloadsUpTo: Int?
    /// What to trust instead of the system's certificates.
    var authorities: Authorities?
    var compression = CompressionPolicy.automatic
    /// For how long the trash keeps what was deleted; 0: for ever.
    var trashDays = 30
    /// The file with keys for objects that are not on the server; nil: they are in the environment.
    var objectsKeys: String?
    /// Take the tasks directory and the remote as they are, although they are not those remembered.
    var rebinds = false

    /// The names of the settings that differ from those of another configuration and that a running daemon cannot change.
    func names(needingRestartAfter other: DaemonConfiguration) -> [String] {
        [
            (Setting.tasks, tasks == other.tasks), (.state, state == other.state), (.socket, socket == other.socket),
            (.deviceName, deviceName == other.deviceName), (.download, downloadsUpTo == other.downloadsUpTo),
            (.tlsCA, authorities == other.authorities), (.compression, compression == other.compression),
            (.trashDays, trashDays == other.trashDays), (.objectsKeys, objectsKeys == other.objectsKeys),
        ].filter { !$0.1 }.map(\.0.name)
    }

    /// Certificates of authorities, as text in the PEM form, and the file that they were read from.
    struct Authorities: Sendable, Hashable {
        var path: String
        var pem: String
    }
}

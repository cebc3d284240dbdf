import ObjectStorage
import SystemService
import TaskModel

/// The settings of a daemon. All paths are absolute.
struct DaemonConfiguration: Sendable, Hashable {
    var tasks: String
    var state: String
    var socket: String
    /// The name of this machine on other machines.
    var deviceName = ""
    var logLevel = LogLevel.info
    /// The limit for uploads of attachments in bytes per second; nil for no limit.
    var uploadLimit: Int?
    var downloadLimit: Int?
    /// The size in bytes up to which attachments are downloaded automatically; nil for no limit.
    var downloadsUpTo: Int?
    /// The certificates to trust instead of the system's.
    var authorities: Authorities?
    var compression = CompressionPolicy.automatic
    /// The number of days for which the trash keeps deleted items; 0 for ever.
    var trashDays = 30
    /// The file with keys for objects that are not on the server; nil if the keys are in the
    /// environment.
    var objectsKeys: String?
    /// Whether reminders are shown on the desktop.
    var showsReminders = true
    /// The settings by which tasks are read.
    var reading = TaskReading()
    /// Whether to accept the tasks directory and the remote even if they are not those remembered.
    var rebinds = false

    /// Returns the names of the settings that differ from those of another configuration and that a
    /// running daemon cannot change.
    func names(needingRestartAfter other: DaemonConfiguration) -> [String] {
        [
            (Setting.tasks, tasks == other.tasks), (.state, state == other.state), (.socket, socket == other.socket),
            (.deviceName, deviceName == other.deviceName), (.download, downloadsUpTo == other.downloadsUpTo),
            (.tlsCA, authorities == other.authorities), (.compression, compression == other.compression),
            (.trashDays, trashDays == other.trashDays), (.objectsKeys, objectsKeys == other.objectsKeys),
            (.reminders, showsReminders == other.showsReminders),
            (.statusWords, reading.vocabulary.statuses == other.reading.vocabulary.statuses),
            (.priorityWords, reading.vocabulary.priorities == other.reading.vocabulary.priorities),
            (.dayReminders, reading.dayReminder == other.reading.dayReminder),
        ].filter { !$0.1 }.map(\.0.name)
    }

    /// The certificates of authorities in PEM form, and the file from which they were read.
    struct Authorities: Sendable, Hashable {
        var path: String
        var pem: String
    }
}

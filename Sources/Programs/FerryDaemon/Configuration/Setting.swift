import CommandLineTool
import SystemService

/// A setting: a flag, a key of the configuration file and an environment variable with the same
/// name. Help, manual pages and the check for unknown keys are generated from this declaration.
struct Setting: Sendable, Hashable {
    let name: String
    let value: String
    let summary: String
    let completion: Completion
    /// The text of `ferryd.yaml(5)` in addition to the summary.
    let details: String

    init(_ name: String, _ value: String, _ summary: String, completion: Completion = .none, details: String) {
        self.name = name
        self.value = value
        self.summary = summary
        self.completion = completion
        self.details = details
    }

    /// The environment variable, such as `FERRY_LOG_LEVEL`.
    var variable: String { "FERRY_" + name.uppercased().replacing("-", with: "_") }

    var option: Option { Option(name, value: value, summary: "\(summary) (\(variable))", completion: completion) }

    static let tasks = Setting(
        "tasks", "DIR", "the tasks directory (default ~/Tasks)", completion: .directories,
        details:
            "Created when the daemon runs for the first time. Later a missing directory is an error, and "
            + "nothing is sent until it is back.")
    static let state = Setting(
        "state", "DIR", "where the daemon keeps its state (default ~/.local/share/ferry)", completion: .directories,
        details: "Holds the session, the replica and the journal of unsent changes. Mode 0700. One daemon at a time.")
    static let socket = Setting(
        "socket", "PATH", "the control socket (default $XDG_RUNTIME_DIR/ferry/ferryd.sock)", completion: .files,
        details: "A socket that systemd passes (FileDescriptorName=control) takes precedence.")
    static let deviceName = Setting(
        "device-name", "NAME", "the name of this machine on other machines (default: the host name)",
        details: "Up to 100 characters. Histories and 'ferry devices' show it.")
    static let logLevel = Setting(
        "log-level", "LEVEL", "lowest level that is logged (default info)",
        completion: .words(LogLevel.allCases.map(\.name)),
        details: "One of \(LogLevel.allCases.map(\.name).joined(separator: ", ")). SIGHUP applies a change.")
    static let uploadLimit = Setting(
        "upload-limit", "RATE", "bytes per second for uploads, such as 500K or 2M (default: no limit)",
        details: "A whole number, with K, M or G for 1024, 1024² or 1024³; 0 is no limit. SIGHUP applies a change.")
    static let downloadLimit = Setting(
        "download-limit", "RATE", "bytes per second for downloads (default: no limit)",
        details: "Like upload-limit.")
    static let download = Setting(
        "download", "WHAT", "attachments to download automatically: all, none, or a size such as 10M (default all)",
        details:
            "'ferry get' downloads the others. New versions of local attachments always come. A restart applies a change."
    )

    static let tlsCA = Setting(
        "tls-ca", "FILE", "PEM file of the certificates to trust (default: the system's)", completion: .files,
        details:
            "For a server with a self-signed certificate, or one from an authority of your own. It replaces the system's "
            + "certificates. A restart applies a change.")

    static let compression = Setting(
        "compression", "HOW", "how attachments are compressed: auto, off, or a level from 1 to 9 (default auto)",
        completion: .words(["auto", "off"] + (1...9).map(String.init)),
        details:
            "auto measures the link and the compressor and uses level 3, 6 or 9, or none if that is twice as fast. "
            + "Images, videos and archives are never compressed. A restart applies a change.")

    static let trashDays = Setting(
        "trash-days", "DAYS", "days for which the trash keeps deleted items, 0 for ever (default 30)",
        details:
            "The smallest number of a user's machines applies to the shared trash, and each machine's own to .ferry/trash and .ferry/recovered. "
            + "A restart applies a change.")

    static let objectsKeys = Setting(
        "objects-keys", "FILE",
        "keys for attachments in another S3 store (default: AWS_ACCESS_KEY_ID and related variables)",
        completion: .files,
        details:
            "A file in the format of ~/.aws/credentials with the profile 'default' and mode 0600. It is read again every minute. "
            + "Without it, the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN are used.")

    static let reminders = Setting(
        "reminders", "WHEN", "whether this machine shows reminders on its desktop: on or off (default on)",
        completion: .words(["on", "off"]),
        details:
            "Reminders are shown through org.freedesktop.Notifications of the user's session. Without a desktop they wait for one. "
            + "A restart applies a change.")

    static let dayReminders = Setting(
        "day-reminders", "TIME", "time at which tasks that are due on a day remind, such as 9:00, or off (default off)",
        details:
            "For tasks without reminders of their own. A time in YAML needs quotes: '9:00'. A restart applies a change."
    )

    static let statusWords = Setting(
        "status-words", "WORDS", "more words of 'status': open | done | cancelled, such as 'offen, aktiv | erledigt'",
        details:
            "Words are separated by commas, and rows of words that belong together by ';'. The first word for open and for done is the one "
            + "that commands write. The words that are known without it are in vocabulary.md. A restart applies a change."
    )

    static let priorityWords = Setting(
        "priority-words", "WORDS", "more words of 'priority': high | medium | low, such as 'dringend | | egal'",
        details: "Words are separated by commas. A restart applies a change.")

    static let all = [
        tasks, state, socket, deviceName, logLevel, uploadLimit, downloadLimit, download, tlsCA, compression, trashDays,
        objectsKeys, reminders, dayReminders, statusWords, priorityWords,
    ]
}

extension Option {
    static let config = Option(
        "config", value: "FILE",
        summary: "YAML file with the same settings (FERRY_CONFIG; default ~/.config/ferry/ferryd.yaml)",
        completion: .files)
    static let rebind = Option(
        "rebind",
        summary: "accept the present tasks directory and server; files are merged, nothing is deleted")
}

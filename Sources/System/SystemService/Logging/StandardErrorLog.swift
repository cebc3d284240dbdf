import CivilTime
import Glibc
import SystemIO

/// A log on standard error: with the `<N>` prefix of sd-daemon(3) if that is the journal, otherwise
/// with time and level.
package struct StandardErrorLog: Sendable {
    package static let shared = StandardErrorLog()

    private let isJournal: Bool

    init() {
        isJournal = StandardErrorLog.isJournal(
            stream: ProcessEnvironment["JOURNAL_STREAM"],
            standardError: try? StandardErrorLog.status())
    }

    /// Whether standard error is connected to the journal.
    ///
    /// JOURNAL_STREAM of systemd.exec(5) is the `device:inode` of the journal's socket. A child
    /// whose standard error was redirected inherits the variable but not the socket.
    static func isJournal(stream: String?, standardError: FileStatus?) -> Bool {
        guard let stream, let standardError else { return false }
        return stream == "\(standardError.device):\(standardError.inode)"
    }

    private static func status() throws(SystemError) -> FileStatus {
        // Borrowed for one call: standard error stays open.
        let error = FileDescriptor(owning: STDERR_FILENO, path: "standard error")
        let status = Result { () throws(SystemError) in try error.status() }
        _ = error.release()
        return try status.get()
    }

    package func write(_ record: LogRecord) {
        let line = StandardErrorLog.text(record, isJournal: isJournal) {
            UTCTime(microseconds: Environment.system.wallClock() * 1000).rfc3339(fraction: .milliseconds)
        }
        // If standard error is closed, the line is dropped.
        StandardStream.error.write(line)
    }

    static func text(_ record: LogRecord, isJournal: Bool, time: () -> String) -> String {
        isJournal
            ? "<\(record.level.priority)>\(record.line)\n" : "\(time()) \(record.level.name) \(record.line)\n"
    }
}

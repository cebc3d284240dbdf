/// A value that writes log records for one part of the program and adds its metadata to them.
///
/// Messages must not contain secrets or the text of tasks; ids and paths are allowed.
package struct Logger: Sendable {
    package var label: String
    /// The lowest level that is written. Records below it cost one comparison.
    package var level: LogLevel
    package var metadata: [(key: String, value: String)] = []
    private let write: @Sendable (LogRecord) -> Void

    package init(
        label: String, level: LogLevel = .info,
        write: @escaping @Sendable (LogRecord) -> Void = { StandardErrorLog.shared.write($0) }
    ) {
        self.label = label
        self.level = level
        self.write = write
    }

    /// A logger that writes nothing.
    package static let silent = Logger(label: "", level: .critical, write: { _ in })

    /// Returns the same logger for another part of the program.
    package func labelled(_ label: String) -> Logger {
        var logger = self
        logger.label = label
        return logger
    }

    /// Returns the same logger with one more `key=value` on each record.
    package func with(_ key: String, _ value: some CustomStringConvertible) -> Logger {
        var logger = self
        logger.metadata.append((key, value.description))
        return logger
    }

    package func log(
        _ level: LogLevel, _ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]
    ) {
        guard level >= self.level else { return }
        write(
            LogRecord(
                level: level, label: label, message: message(),
                metadata: metadata + details.map { (key: $0.key, value: $0.value) }))
    }

    package func debug(_ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]) {
        log(.debug, message(), details)
    }

    package func info(_ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]) {
        log(.info, message(), details)
    }

    package func notice(_ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]) {
        log(.notice, message(), details)
    }

    package func warning(_ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]) {
        log(.warning, message(), details)
    }

    package func error(_ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]) {
        log(.error, message(), details)
    }

    package func critical(_ message: @autoclosure () -> String, _ details: KeyValuePairs<String, String> = [:]) {
        log(.critical, message(), details)
    }
}

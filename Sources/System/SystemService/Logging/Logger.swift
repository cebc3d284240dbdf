/// Writes log lines for one part of the program; a value that carries its metadata along.
///
/// Messages never hold secrets or what a user wrote in a task; ids and paths are fine.
package struct Logger: Sendable {
    package var label: String
    /// Lines below it cost nothing but the comparison.
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

    /// For tests and for libraries that nobody gave a logger.
    package static let silent = Logger(label: "", level: .critical, write: { _ in })

    /// The same logger for another part of the program.
    package func labelled(_ label: String) -> Logger {
        var logger = self
        logger.label = label
        return logger
    }

    /// The same logger with one more `key=value` on each line.
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

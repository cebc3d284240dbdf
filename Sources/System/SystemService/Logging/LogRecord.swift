/// One log message before it is written.
package struct LogRecord: Sendable {
    package var level: LogLevel
    /// The part of the program that logs: "sync", "http".
    package var label: String
    package var message: String
    /// The details in the order in which they were given.
    package var metadata: [(key: String, value: String)]

    package init(level: LogLevel, label: String, message: String, metadata: [(key: String, value: String)] = []) {
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
    }

    /// The record as `label: message key=value key="value with spaces"`.
    ///
    /// Always one line: control and format characters are escaped. The values of keys that name a
    /// secret are hidden.
    package var line: String {
        var line = label.isEmpty ? "" : label + ": "
        LogRecord.append(message, to: &line, quoting: false)
        for (key, value) in metadata {
            line += " " + key + "="
            if LogRecord.isSecret(key) {
                line += "(hidden)"
            } else {
                LogRecord.append(value, to: &line, quoting: true)
            }
        }
        return line
    }

    private static func append(_ text: String, to line: inout String, quoting: Bool) {
        let quotes = quoting && (text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x3D })
        if quotes { line += "\"" }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case "\"" where quotes: line += "\\\""
            case _ where isHidden(scalar):
                line += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: line.unicodeScalars.append(scalar)
            }
        }
        if quotes { line += "\"" }
    }

    /// Whether a terminal would interpret the character or show nothing, so that a foreign text
    /// could imitate or hide log output.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func isSecret(_ key: String) -> Bool {
        let key = key.lowercased()
        return ["password", "token", "secret", "authorization", "cookie"].contains { key.hasSuffix($0) }
    }
}

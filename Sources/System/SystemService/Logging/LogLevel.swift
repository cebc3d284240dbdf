/// The severity of a log record, lowest first.
package enum LogLevel: Int, Comparable, CaseIterable, Sendable {
    case debug
    case info
    /// A normal event that is worth showing by default.
    case notice
    case warning
    case error
    /// The program cannot continue.
    case critical

    package init?(_ name: some StringProtocol) {
        guard let level = LogLevel.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    /// The priority in syslog(3) and the journal.
    package var priority: Int {
        switch self {
        case .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

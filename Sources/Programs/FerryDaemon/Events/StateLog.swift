import Control
import SystemService

/// The log lines about the daemon's state: one when a state begins and one when it ends, however
/// often it is examined and however many tasks it concerns. Pure.
struct StateLog {
    struct Line: Sendable, Hashable {
        let level: LogLevel
        let text: String
    }

    private var state: DaemonStatus.State?
    private var holdsDeletes = false
    private var holdsReverts = false
    private var hasConflicts = false
    private var problems: Set<String> = []

    /// Returns the lines for the changes since the last call.
    mutating func lines(for status: DaemonStatus) -> [Line] {
        var lines: [Line] = []
        // Connecting and catching up are transitions, not states.
        if ![.starting, .stopping, .unknown].contains(status.state), status.state != state {
            if let line = Self.line(of: status, after: state) { lines.append(line) }
            state = status.state
        }
        let isHolding = status.heldDeletes > 0
        if isHolding != holdsDeletes {
            lines.append(
                isHolding
                    ? Line(level: .warning, text: "many deletes at once are held; 'ferry deletes' shows them")
                    : Line(level: .notice, text: "no deletes are held for review any more"))
            holdsDeletes = isHolding
        }
        let isReverted = status.heldReverts > 0
        if isReverted != holdsReverts {
            lines.append(
                isReverted
                    ? Line(
                        level: .warning,
                        text: "many files went back to older versions and are held; 'ferry deletes' shows them")
                    : Line(level: .notice, text: "no reverts are held any more"))
            holdsReverts = isReverted
        }
        let isConflicting = status.conflicts > 0
        if isConflicting != hasConflicts {
            lines.append(
                isConflicting
                    ? Line(level: .notice, text: "a merge replaced values; 'ferry conflicts' shows them")
                    : Line(level: .notice, text: "all conflicts are resolved"))
            hasConflicts = isConflicting
        }
        let current = Dictionary(grouping: status.problems, by: \.code)
        for (code, members) in current.sorted(by: { $0.key < $1.key }) where !problems.contains(code) {
            guard let first = members.first else { continue }
            let subject = first.subject.map { "\($0): " } ?? ""
            let others = members.count > 1 ? " (and \(members.count - 1) more)" : ""
            lines.append(Line(level: .warning, text: "\(code): \(subject)\(first.message)\(others)"))
        }
        for code in problems.subtracting(current.keys).sorted() {
            lines.append(Line(level: .notice, text: "\(code): over"))
        }
        problems = Set(current.keys)
        return lines
    }

    private static func line(of status: DaemonStatus, after old: DaemonStatus.State?) -> Line? {
        switch status.state {
        case .running:
            return Line(
                level: .notice, text: old == .rootHeld ? "the tasks directory is back" : "connected to the server")
        // Pausing and resuming are logged by the command that does them.
        case .paused: return nil
        case .needsSignIn where old == nil: return Line(level: .notice, text: status.reason ?? "not signed in")
        case .rootHeld, .serverHeld: return Line(level: .error, text: status.reason ?? status.state.rawValue)
        default: return Line(level: .warning, text: status.reason ?? status.state.rawValue)
        }
    }
}

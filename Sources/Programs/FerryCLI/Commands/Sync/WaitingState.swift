import CommandLineTool
import Control

/// A state in which something waits: the text in the output of 'ferry status', the exit status of
/// `--check`, and the remedy.
struct WaitingState {
    /// The waiting thing, for users.
    let name: String
    /// A text that occurs in the output of 'ferry status'.
    let says: String
    let check: ExitStatus
    let remedy: String

    /// All states, in the order of the manual.
    static let all = [
        WaitingState("syncing is paused", says: "paused: ", .offline, "ferry resume"),
        WaitingState(
            "the server cannot be reached", says: "offline: ", .offline,
            "nothing; changes are kept and sent when it is back. 'ferry doctor' checks for problems"),
        WaitingState(
            "the daemon connects, or catches up", says: "starting: ", .offline,
            "nothing; 'ferry log' shows what it does"),
        WaitingState(
            "the daemon is stopping", says: "stopping: ", .offline, "start it again: systemctl --user start ferryd"),
        WaitingState("no account is signed in", says: "needs-sign-in: ", .needsSignIn, "ferry login URL"),
        WaitingState(
            "the tasks directory is missing, or was replaced", says: "root-held: ", .attention,
            "mount or restore it; if the new one is intended: ferry rebind"),
        WaitingState(
            "the server was replaced, or restored to an earlier state", says: "server-held: ", .attention,
            "if that is intended: ferry rebind"),
        WaitingState(
            "the configuration cannot be used", says: "configuration-error: ", .attention,
            "mend the file and line that it names; the daemon notices"),
        WaitingState(
            "the server refused changes", says: "rejected", .attention,
            "fix the task as the problem's line says; 'ferry doctor' lists them"),
        WaitingState(
            "deletes are held for review", says: "held", .attention, "ferry deletes approve, or ferry deletes restore"),
        WaitingState(
            "files that went back to older versions are held for review", says: "older version", .attention,
            "ferry deletes approve, or ferry deletes restore"),
        WaitingState("a merge displaced values", says: "conflicts", .attention, "ferry conflicts"),
        WaitingState("transfers are paused", says: " paused", .attention, "ferry transfers resume --all"),
        WaitingState("transfers failed", says: " failed", .attention, "ferry transfers resume --all"),
        WaitingState(
            "a file or directory cannot be read, written or watched", says: "problem", .attention,
            "follow the line below it"),
        WaitingState(
            "a list's file system is not mounted, or another one is mounted over the list", says: "another file system",
            .attention, "mount it; if the list is to continue without it: ferry rebind"),
        WaitingState("changes are being sent to the server", says: "to send", .success, "nothing"),
        WaitingState("changes are being written to files", says: "to write", .success, "nothing"),
        WaitingState(
            "transfers run, or wait to be retried", says: " waiting", .success,
            "nothing; 'ferry transfers' shows them"),
    ]

    private init(_ name: String, says: String, _ check: ExitStatus, _ remedy: String) {
        self.name = name
        self.says = says
        self.check = check
        self.remedy = remedy
    }

    static let manualSection = (
        title: "What waits",
        text: """
        Each state in which something waits: the text in 'ferry status', the exit status of 'ferry status --check', and
        below it what to do. 'ferry sync --wait' does not end with 0 in any of them, except for conflicts, whose values
        are all synced, and for files that cannot be read, for which it does not wait.


        """ + (["    status says     --check  what waits"] + all.map(\.row)).joined(separator: "\n")
    )

    /// The two lines of the state in the manual's table.
    private var row: String {
        func padded(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(1, width - text.count))
        }
        let word = says.split(separator: " ").joined(separator: " ")
        let indent = String(repeating: " ", count: 4 + 16 + 9 + 2)
        return "    " + padded(word, 16) + padded("\(check.code)", 9) + name + "\n" + indent + remedy
    }
}

extension DaemonStatus {
    /// The reason why nothing is synced at the moment; nil if syncing works or is about to start.
    var standstill: CommandFailure? {
        let status: ExitStatus? =
            switch state {
            case .running, .starting, .unknown: nil
            case .paused, .offline, .stopping: .offline
            case .needsSignIn: .needsSignIn
            case .rootHeld, .serverHeld, .configurationError: .attention
            }
        return status.map {
            CommandFailure(
                plainReason ?? "Nothing is synced now.", hint: hint, status: $0, causes: cause.map { [$0] } ?? [])
        }
    }
}

import CommandLineTool
import Control
import JSON

/// An error in the form in which `ferry` prints it: a sentence, a hint, and the exit status.
struct ErrorReport {
    let code: String
    let message: String
    let hint: String?
    let status: ExitStatus
    let isRetryable: Bool
    let candidates: [TaskSummary]
    /// The descriptions of the underlying errors, outermost first.
    let causes: [String]

    init(_ error: any Error, program: String) {
        switch error {
        case let error as ControlError:
            self.init(error)
        case let error as UsageError:
            let path = ([program] + error.path).joined(separator: " ")
            self.init("usage", error.message, hint: "'\(path) --help' shows how.", status: .usage)
        case let error as CommandFailure:
            self.init("failed", error.message, hint: error.hint, status: error.status, causes: error.causes)
        case is CancellationError:
            self.init("interrupted", "Interrupted.", hint: nil, status: .interrupted)
        default:
            self.init("internal", "\(error)", hint: nil, status: .failure)
        }
    }

    private init(
        _ code: String, _ message: String, hint: String?, status: ExitStatus, isRetryable: Bool = false,
        candidates: [TaskSummary] = [], causes: [String] = []
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        self.isRetryable = isRetryable
        self.candidates = candidates
        self.causes = causes
    }

    private init(_ error: ControlError) {
        let status: ExitStatus =
            switch error.code {
            case .invalidArgument: .usage
            case .notFound, .ambiguous: .notFound
            case .notRunning: .notRunning
            case .offline, .paused, .timedOut: .offline
            case .needsSignIn: .needsSignIn
            case .partlyDone: .partlyDone
            case .conflict, .attention: .attention
            case .alreadyThere, .permissionDenied, .tooLarge, .noSpace, .unavailable, .unsupported, .internal: .failure
            }
        let (message, cause) = error.code == .offline ? PlainReason.split(error.message) : (error.message, nil)
        self.init(
            error.code.rawValue, message, hint: error.hint, status: status, isRetryable: error.isRetryable,
            candidates: error.candidates, causes: (cause.map { [$0] } ?? []) + error.causes)
    }

    /// Prints the error on standard error: the sentence and the hint, with `isVerbose` also the
    /// causes, or everything as one JSON object.
    func write(to terminal: Terminal, asJSON: Bool, isVerbose: Bool) {
        guard !asJSON else {
            terminal.noteUnbroken(json.text)
            return
        }
        terminal.note("ferry: \(message.printable)")
        for candidate in candidates {
            terminal.noteCut("  \(String(candidate.id.prefix(8)).printable)  \(candidate.title.printable)")
        }
        if let hint { terminal.note("  \(hint.printable)") }
        if isVerbose { for cause in causes { terminal.note("  because: \(cause.printable)") } }
    }

    /// The error as `{"error": {"code", "message", "hint", "retryable", …}}`, the form of the
    /// control protocol.
    var json: JSON {
        var error: JSONObject = ["code": .string(code), "message": .string(message)]
        if let hint { error["hint"] = .string(hint) }
        error["retryable"] = .boolean(isRetryable)
        error["status"] = .integer(Int64(status.code))
        if !candidates.isEmpty { error["candidates"] = candidates.json }
        if !causes.isEmpty { error["causes"] = .array(causes.map { .string($0) }) }
        return .object(["error": .object(error)])
    }
}

extension ExitStatus {
    static let notFound = ExitStatus(3)
    static let notRunning = ExitStatus(4)
    static let offline = ExitStatus(5)
    /// A conflict, a held delete or a problem waits for the user.
    static let attention = ExitStatus(6)
    static let needsSignIn = ExitStatus(7)
    static let partlyDone = ExitStatus(8)
    static let interrupted = ExitStatus(130)
}

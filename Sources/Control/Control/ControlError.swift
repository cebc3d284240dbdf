package import JSON

/// An error that crosses the socket: `{"error": {"code", "message", "hint", "retryable"}}`.
package struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is; each has an HTTP status and an exit status of `ferry`.
    package enum Code: String, Sendable, CaseIterable {
        case invalidArgument = "invalid-argument"
        case notFound = "not-found"
        case ambiguous
        case conflict
        /// What is to be made was made before.
        case alreadyThere = "already-there"
        case needsSignIn = "needs-sign-in"
        case offline
        /// Syncing is paused by the user.
        case paused
        /// Something waits for a person; the message counts it.
        case attention
        case timedOut = "timed-out"
        case permissionDenied = "permission-denied"
        case tooLarge = "too-large"
        case noSpace = "no-space"
        /// The daemon is in a state in which it cannot do this; the message names it.
        case unavailable
        /// No daemon answered; made by the client only.
        case notRunning = "not-running"
        case partlyDone = "partly-done"
        case unsupported
        case `internal`
    }

    package var code: Code
    /// One sentence.
    package var message: String
    /// The command or step that helps.
    package var hint: String?
    /// Whether the same request may succeed later.
    package var isRetryable: Bool
    /// For `ambiguous`: the candidates.
    package var candidates: [TaskSummary]
    /// What lies beneath, for whoever wants to know more: the outermost first.
    package var causes: [String]

    package init(
        _ code: Code, _ message: String, hint: String? = nil, isRetryable: Bool = false,
        candidates: [TaskSummary] = [], causes: [String] = []
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.isRetryable = isRetryable
        self.candidates = candidates
        self.causes = causes
    }

    package var description: String { message }

    static func malformed(_ what: String) -> ControlError {
        ControlError(.invalidArgument, "Malformed message: \(what).")
    }

    /// An answer of the daemon that this version cannot read.
    static func unreadable(_ error: any Error) -> ControlError {
        let reason = "\(error)"
        return ControlError(
            .internal, "The daemon's answer cannot be read: \(reason)\(reason.hasSuffix(".") ? "" : ".")",
            hint: "Restart the daemon, so that it is of the same version as this program.")
    }

    package var json: JSON {
        .members(
            (
                "error",
                .members(
                    ("code", code.rawValue.asJSON), ("message", message.asJSON), ("hint", hint?.asJSON),
                    ("retryable", isRetryable.asJSON), ("candidates", candidates.isEmpty ? nil : candidates.json),
                    ("causes", causes.ifAny))
            ))
    }

    /// From an answer's body; nil if it is not one.
    package init?(json: JSON) {
        guard let error = json["error"], let message = error["message"]?.stringValue else { return nil }
        self.init(
            error.choice("code", unknown: .internal), message, hint: error["hint"]?.stringValue,
            isRetryable: error.flag("retryable"), candidates: (try? error.list("candidates")) ?? [],
            causes: error.strings("causes"))
    }

    package var httpStatus: Int {
        switch code {
        case .invalidArgument, .unsupported: 400
        case .needsSignIn: 401
        case .permissionDenied: 403
        case .notFound: 404
        case .ambiguous, .conflict, .alreadyThere, .attention: 409
        case .tooLarge: 413
        case .offline, .paused, .unavailable, .notRunning: 503
        case .timedOut: 504
        case .noSpace: 507
        case .partlyDone, .internal: 500
        }
    }
}

package import JSON

/// An error of a call, with the form `{"error": {"code", "message", "hint", "retryable"}}` on the
/// socket.
package struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error. Each kind has an HTTP status and an exit status of `ferry`.
    package enum Code: String, Sendable, CaseIterable {
        case invalidArgument = "invalid-argument"
        case notFound = "not-found"
        case ambiguous
        case conflict
        /// The thing to create was created before.
        case alreadyThere = "already-there"
        case needsSignIn = "needs-sign-in"
        case offline
        /// Syncing is paused by the user.
        case paused
        /// Something needs a decision of the user; the message contains the number of decisions.
        case attention
        case timedOut = "timed-out"
        case permissionDenied = "permission-denied"
        case tooLarge = "too-large"
        case noSpace = "no-space"
        /// The daemon cannot do this in its current state; the message names the state.
        case unavailable
        /// No daemon listens on the socket. Only the client creates this error.
        case notRunning = "not-running"
        case partlyDone = "partly-done"
        case unsupported
        case `internal`
    }

    package var code: Code
    /// The message for the user, one sentence.
    package var message: String
    /// The command or step that helps; nil if none is known.
    package var hint: String?
    /// Whether the same request may succeed later.
    package var isRetryable: Bool
    /// The tasks among which the user has to choose, for `ambiguous`.
    package var candidates: [TaskSummary]
    /// The messages of the underlying errors, outermost first.
    package var causes: [String]

    /// Creates an error.
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

    /// Creates the error for a response of the daemon that this version cannot parse.
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

    /// Creates an error from the body of a response; nil if the body is none.
    package init?(json: JSON) {
        guard let error = json["error"], let message = error["message"]?.stringValue else { return nil }
        self.init(
            error.choice("code", unknown: .internal), message, hint: error["hint"]?.stringValue,
            isRetryable: error.flag("retryable"), candidates: (try? error.list("candidates")) ?? [],
            causes: error.strings("causes"))
    }

    /// The HTTP status of the response.
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

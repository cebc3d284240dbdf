package import JSON

/// The state of the daemon, as `ferry status` shows it.
package struct DaemonStatus: JSONCodable, Hashable {
    /// The overall state of the daemon.
    package enum State: String, Sendable {
        case starting
        /// The daemon is connected to the remote.
        case running
        /// Syncing is paused by the user.
        case paused
        /// The remote cannot be reached; `reason` tells why and when the next attempt is made.
        case offline
        /// There is no account, or the remote rejects the session.
        case needsSignIn = "needs-sign-in"
        /// The tasks directory is missing, replaced or unreadable. Nothing is sent.
        case rootHeld = "root-held"
        /// The server is not the same as before, or was restored to an earlier state. Nothing is
        /// sent or applied.
        case serverHeld = "server-held"
        /// The configuration cannot be used, so nothing runs; `reason` names file, line and error.
        case configurationError = "configuration-error"
        case stopping
        case unknown
    }

    package var version: String
    package var state: State
    /// The reason for any state but `running`, one sentence.
    package var reason: String?
    /// The step that helps; nil if none is known.
    package var hint: String?
    package var account: AccountSummary?
    /// The absolute path of the tasks directory.
    package var tasksDirectory: String
    package var taskCount: Int
    package var openTaskCount: Int
    /// The number of mutations that the remote has not acknowledged.
    package var pendingUp: Int
    /// The number of remote changes that are not in files yet.
    package var pendingDown: Int
    /// The age of the oldest unacknowledged change in seconds; nil if there is none.
    package var oldestPendingSeconds: Double?
    /// The time at which everything was last in sync, in RFC 3339 by the remote's clock.
    package var lastSync: String?
    package var activeTransfers: Int
    package var waitingTransfers: Int
    /// The reason why a transfer waits to be retried; nil if all waiting transfers only wait for
    /// their turn.
    package var transfersWaitFor: String?
    /// The number of transfers that a command has paused.
    package var pausedTransfers = 0
    /// The number of failed transfers that are not retried automatically.
    package var failedTransfers = 0
    /// The number of changes that the remote has rejected. They are kept on this device.
    package var rejected = 0
    package var heldDeletes: Int
    /// The number of files that went back to older versions, many at once, and wait for approval.
    package var heldReverts = 0
    package var conflicts: Int
    package var trashed: Int
    /// The number of invitations that this account has not answered.
    package var invitations: Int
    /// The number of invitations of this account that are not answered.
    package var sentInvitations: Int
    package var problems: [Problem]

    package init(version: String, state: State, tasksDirectory: String) {
        self.version = version
        self.state = state
        self.tasksDirectory = tasksDirectory
        taskCount = 0
        openTaskCount = 0
        pendingUp = 0
        pendingDown = 0
        activeTransfers = 0
        waitingTransfers = 0
        heldDeletes = 0
        conflicts = 0
        trashed = 0
        invitations = 0
        sentInvitations = 0
        problems = []
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            version: try json.string("version"), state: json.choice("state", unknown: .unknown),
            tasksDirectory: json["tasksDirectory"]?.stringValue ?? "")
        func count(_ key: String) -> Int { Int(json[key]?.integerValue ?? 0) }
        reason = json["reason"]?.stringValue
        hint = json["hint"]?.stringValue
        if let account = json["account"], !account.isNull { self.account = try AccountSummary(json: account) }
        taskCount = count("tasks")
        openTaskCount = count("openTasks")
        pendingUp = count("pendingUp")
        pendingDown = count("pendingDown")
        oldestPendingSeconds = json["oldestPendingSeconds"]?.doubleValue
        lastSync = json["lastSync"]?.stringValue
        activeTransfers = count("activeTransfers")
        waitingTransfers = count("waitingTransfers")
        transfersWaitFor = json["transfersWaitFor"]?.stringValue
        pausedTransfers = count("pausedTransfers")
        failedTransfers = count("failedTransfers")
        rejected = count("rejected")
        heldDeletes = count("heldDeletes")
        heldReverts = count("heldReverts")
        conflicts = count("conflicts")
        trashed = count("trashed")
        invitations = count("invitations")
        sentInvitations = count("sentInvitations")
        problems = try json.list("problems")
    }

    package var json: JSON {
        .members(
            ("schemaVersion", 1), ("version", version.asJSON), ("state", state.rawValue.asJSON),
            ("reason", reason?.asJSON), ("hint", hint?.asJSON), ("account", account?.json),
            ("tasksDirectory", tasksDirectory.asJSON), ("tasks", taskCount.asJSON), ("openTasks", openTaskCount.asJSON),
            ("pendingUp", pendingUp.asJSON), ("pendingDown", pendingDown.asJSON),
            ("oldestPendingSeconds", oldestPendingSeconds?.asJSON), ("lastSync", lastSync?.asJSON),
            ("activeTransfers", activeTransfers.asJSON), ("waitingTransfers", waitingTransfers.asJSON),
            ("transfersWaitFor", transfersWaitFor?.asJSON), ("pausedTransfers", pausedTransfers.asJSON),
            ("failedTransfers", failedTransfers.asJSON), ("rejected", rejected.asJSON),
            ("heldDeletes", heldDeletes.asJSON), ("heldReverts", heldReverts.asJSON), ("conflicts", conflicts.asJSON),
            ("trashed", trashed.asJSON),
            ("invitations", invitations.asJSON), ("sentInvitations", sentInvitations.asJSON),
            ("problems", problems.json))
    }

    /// Whether the user should look: there is a held delete or revert, a conflict, a rejected change, a
    /// paused or failed transfer, or a problem.
    package var needsAttention: Bool {
        heldDeletes > 0 || heldReverts > 0 || rejected > 0 || pausedTransfers > 0 || failedTransfers > 0
            || conflicts > 0 || !problems.isEmpty || [.rootHeld, .serverHeld, .configurationError].contains(state)
    }

    /// Whether all local changes are on the remote and all remote changes are in files.
    package var isInSync: Bool {
        state == .running && pendingUp == 0 && pendingDown == 0 && activeTransfers == 0 && waitingTransfers == 0
            && pausedTransfers == 0 && failedTransfers == 0 && rejected == 0
    }
}

/// A problem that the user has to solve: a file that cannot be read, a document that the remote
/// rejects, or a limit that is reached.
package struct Problem: JSONCodable, Hashable {
    /// A short word for scripts: `malformed-front-matter`, `symlink`, `disk-full` …
    package var code: String
    /// The file or task that has the problem; nil if it concerns none.
    package var subject: String?
    package var message: String
    package var hint: String?

    package init(code: String, subject: String? = nil, message: String, hint: String? = nil) {
        self.code = code
        self.subject = subject
        self.message = message
        self.hint = hint
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            code: try json.string("code"), subject: json["subject"]?.stringValue, message: try json.string("message"),
            hint: json["hint"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("code", code.asJSON), ("subject", subject?.asJSON), ("message", message.asJSON), ("hint", hint?.asJSON))
    }
}

/// The account that is signed in, and its server.
package struct AccountSummary: JSONCodable, Hashable {
    package var userID: String
    /// The e-mail address; nil for an anonymous account.
    package var email: String?
    package var server: String

    package init(userID: String, email: String?, server: String) {
        self.userID = userID
        self.email = email
        self.server = server
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            userID: try json.string("userId"), email: json["email"]?.stringValue, server: try json.string("server"))
    }

    package var json: JSON {
        .members(("userId", userID.asJSON), ("email", email?.asJSON), ("server", server.asJSON))
    }
}

/// The resources that the account uses on the server, and their limits.
package struct AccountUsageSummary: JSONCodable, Hashable {
    package var objectBytes: Int64
    package var objectBytesLimit: Int64
    package var documents: Int64
    package var documentsLimit: Int64
    package var requestsPerSecondLimit: Int64

    package init(
        objectBytes: Int64, objectBytesLimit: Int64, documents: Int64, documentsLimit: Int64,
        requestsPerSecondLimit: Int64
    ) {
        self.objectBytes = objectBytes
        self.objectBytesLimit = objectBytesLimit
        self.documents = documents
        self.documentsLimit = documentsLimit
        self.requestsPerSecondLimit = requestsPerSecondLimit
    }

    package init(json: JSON) throws(ControlError) {
        func number(_ key: String) -> Int64 { json[key]?.integerValue ?? 0 }
        self.init(
            objectBytes: number("objectBytes"), objectBytesLimit: number("objectBytesLimit"),
            documents: number("documents"), documentsLimit: number("documentsLimit"),
            requestsPerSecondLimit: number("requestsPerSecondLimit"))
    }

    package var json: JSON {
        .members(
            ("objectBytes", .integer(objectBytes)), ("objectBytesLimit", .integer(objectBytesLimit)),
            ("documents", .integer(documents)), ("documentsLimit", .integer(documentsLimit)),
            ("requestsPerSecondLimit", .integer(requestsPerSecondLimit)))
    }
}

/// The data to sign in. The password is sent only over the socket; it is never an argument of a
/// command or in a log.
package struct SignInRequest: JSONCodable, Hashable {
    /// The HTTP address of the server, whose discovery document contains the other addresses.
    package var server: String
    /// The e-mail address; nil for an anonymous account, and if `code` identifies the account.
    package var email: String?
    package var password: String?
    /// Whether to create the account.
    package var create: Bool
    /// The invitation to the server, if it requires one for new accounts.
    package var invitation: String?
    /// A code of the server's administrator, which sets the password of an account to `password`.
    package var code: String?
    /// Whether tasks in the tasks directory that belong to another account are merged into this
    /// one.
    package var merges: Bool

    package init(
        server: String, email: String? = nil, password: String? = nil, create: Bool = false,
        invitation: String? = nil, code: String? = nil, merges: Bool = false
    ) {
        self.server = server
        self.email = email
        self.password = password
        self.create = create
        self.invitation = invitation
        self.code = code
        self.merges = merges
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            server: try json.string("server"), email: json["email"]?.stringValue,
            password: json["password"]?.stringValue, create: json.flag("create"),
            invitation: json["invitation"]?.stringValue, code: json["code"]?.stringValue,
            merges: json.flag("merge"))
    }

    package var json: JSON {
        .members(
            ("server", server.asJSON), ("email", email?.asJSON), ("password", password?.asJSON),
            ("create", create.ifTrue), ("invitation", invitation?.asJSON), ("code", code?.asJSON),
            ("merge", merges.ifTrue))
    }
}

/// What the daemon offers over its socket. The daemon implements it, `ControlServer` puts it on the socket, and
/// `ControlClient` is it from the other end: the CLI cannot tell the difference.
///
/// A `task` argument is a unique id prefix, a file path below the tasks directory, or words of the title; the error is
/// `not-found`, or `ambiguous` with candidates. No call waits for the network unless it says so.
package protocol ControlService: Sendable {
    func status() async throws -> DaemonStatus
    func tasks(_ filter: TaskFilter) async throws -> TaskListing
    func task(_ task: String) async throws -> TaskDetail
    /// Makes a task; `title` or `fileName` must be there. Throws `already-there`, with the task as the candidate, for an `importKey`
    /// that was added before.
    func add(_ change: TaskChange) async throws -> TaskSummary
    func change(_ task: String, _ change: TaskChange) async throws -> TaskSummary
    /// Moves tasks to the trash; more than the guard allows at once are refused unless `confirmed`.
    func remove(_ tasks: [String], confirmed: Bool) async throws -> [TaskSummary]
    func lists() async throws -> [ListSummary]
    /// Invites the account of an e-mail address, or with an id, to read and write a list of this account's. The list is shared
    /// once the other has accepted. Waits for the network.
    func share(_ list: String, with user: String) async throws -> ListSummary
    /// Takes a list from one account or, where `user` is nil, from all, and takes back invitations; leaves a list that is
    /// somebody else's. Waits for the network where an e-mail address is given.
    func unshare(_ list: String, from user: String?) async throws -> ListSummary
    /// The invitations that have not been answered: those to this account, oldest first, then those that it sent.
    func invitations() async throws -> [InvitationSummary]
    /// Answers an invitation to this account, by its number in `invitations()` or the beginning of its id. Accepting waits for
    /// the network.
    func answerInvitation(_ invitation: String, _ answer: InvitationAnswer) async throws -> InvitationSummary
    /// The accounts whose invitations are refused.
    func blocks() async throws -> [BlockSummary]
    /// Refuses the invitations of an account from now on, and declines those that wait; or takes that back. Waits for the
    /// network where an e-mail address is given that is not known here.
    func setBlocked(_ user: String, _ isBlocked: Bool) async throws -> [BlockSummary]

    /// Attaches files, all or none; returns once the bytes are in the tasks directory and the uploads are queued. Each request
    /// costs what the task's document does, so small files go together.
    func attach(_ task: String, _ files: [FileToAttach]) async throws -> [TransferSummary]
    func detach(_ task: String, attachment: String) async throws
    /// Brings an attachment here if it is not; the transfer is already done when it is.
    func fetch(_ task: String, attachment: String) async throws -> TransferSummary
    /// Keeps all attachments of a task here, also those to come; or no longer. Answers the transfers that bring what is missing.
    func setPinned(_ task: String, _ isPinned: Bool) async throws -> [TransferSummary]
    func transfers() async throws -> [TransferSummary]
    /// By id prefix; empty `ids` means all.
    func changeTransfers(_ action: TransferAction, ids: [String]) async throws -> [TransferSummary]

    /// Looks for changes now, on both sides. With `wait`, returns when the remote has acknowledged everything and everything
    /// of the remote is in files; throws `timed-out` or `offline` after `timeout`, and
    /// `attention` where all has moved but what waits for a person. Throws `paused` while syncing is.
    func sync(wait: Bool, timeout: Duration) async throws -> DaemonStatus
    /// What a sync would do now; nothing is changed.
    func plan() async throws -> SyncPlan
    func setPaused(_ isPaused: Bool) async throws -> DaemonStatus
    /// Goes on with the tasks directory and the server as they are now: files are united, nothing is deleted.
    ///
    /// - Throws: `invalid-argument` where neither is held.
    func rebind() async throws -> DaemonStatus

    func heldDeletes() async throws -> [HeldDelete]
    /// Sends held deletes, or brings the files back; empty `tasks` means all.
    func decideDeletes(_ decision: DeleteDecision, tasks: [String]) async throws -> [HeldDelete]
    func trash() async throws -> [TrashedTask]
    func restore(_ tasks: [String]) async throws -> [TaskSummary]
    func conflicts() async throws -> [ConflictSummary]
    /// `mine` and `dismiss` keep what stands, `theirs` brings the displaced value back; empty `ids` means all.
    func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary]

    /// What merges displaced of a task, newest first, looked at or not.
    func history(_ task: String) async throws -> [ConflictSummary]
    /// Who made each field of a task what it is; also of one in the trash.
    func explanation(_ task: String) async throws -> TaskExplanation
    /// Undoes the last command that changed tasks here, or the last change of one task, as a new change.
    ///
    /// - Parameter isTrial: only tells what it would do.
    func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary]

    /// The machines of the account, this one first.
    func devices() async throws -> [DeviceSummary]
    /// Looks whether everything is as it should be. Waits for the network, some seconds at most.
    func health() async throws -> [HealthCheck]
    /// The last lines of the daemon's log, oldest first.
    func log() async throws -> [LogLine]
    /// The settings in force.
    func configuration() async throws -> [SettingSummary]
    /// What the settings would be with this text as the configuration file, which errors call `name`.
    ///
    /// - Throws: `invalid-argument` that names the line and the nearest right key.
    func checkConfiguration(_ text: String, named name: String) async throws -> [SettingSummary]

    /// Waits for the network.
    ///
    /// - Throws: `conflict` where the tasks directory belongs to another lasting account and the request does not say `merges`.
    func signIn(_ request: SignInRequest) async throws -> AccountSummary
    /// Turns the anonymous account into a lasting one. Waits for the network.
    func link(email: String, password: String) async throws -> AccountSummary
    /// Replaces the account's password; its other machines have to sign in again. Waits for the network.
    func changePassword(from old: String, to new: String) async throws
    func signOut() async throws
    func account() async throws -> AccountSummary
    /// Waits for the network; nil where the server does not say.
    func usage() async throws -> AccountUsageSummary?

    /// Events after `lastEventID`, or from now on; begins with a status event. Ends when the daemon stops.
    func events(after lastEventID: UInt64?) async throws -> AsyncThrowingStream<ControlEvent, any Error>
}

package enum InvitationAnswer: String, Sendable {
    case accept
    case decline
}

package enum TransferAction: String, Sendable {
    case pause
    case resume
    case cancel
}

package enum DeleteDecision: String, Sendable {
    case approve
    case restore
}

package enum ConflictDecision: String, Sendable {
    case mine
    case theirs
    case dismiss
}

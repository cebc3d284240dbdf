/// The interface of the daemon. The daemon implements it, `ControlServer` serves it on a socket,
/// and `ControlClient` implements it for callers in other processes.
///
/// A `task` argument is a unique prefix of an id, the path of a file below the tasks directory, or
/// words of a title. The errors are `not-found`, and `ambiguous` with candidates. No call waits for
/// the network unless its documentation says so.
package protocol ControlService: Sendable {
    /// Returns the state of the daemon.
    func status() async throws -> DaemonStatus
    /// Returns the tasks that match `filter`.
    func tasks(_ filter: TaskFilter) async throws -> TaskListing
    /// Returns one task with its notes, fields and attachments.
    func task(_ task: String) async throws -> TaskDetail
    /// Creates a task. It must have a `title` or a `fileName`. Throws `already-there`, with the
    /// task as the candidate, if a task with the same `importKey` was added before.
    func add(_ change: TaskChange) async throws -> TaskSummary
    /// Creates several tasks together, each as `add` with one task does, and returns a result for
    /// each, in order. A task that is refused does not keep the others from being added. The others
    /// are added in one transaction: after a crash, all of them exist or none.
    ///
    /// Throws `too-large` for more than `ControlLimit.newTasks`.
    func add(_ changes: [TaskChange]) async throws -> [AddResult]
    /// Changes fields of a task.
    func change(_ task: String, _ change: TaskChange) async throws -> TaskSummary
    /// Moves tasks to the trash. Throws if there are more than the delete guard allows at once,
    /// unless `confirmed` is true.
    func remove(_ tasks: [String], confirmed: Bool) async throws -> [TaskSummary]
    /// Returns all lists.
    func lists() async throws -> [ListSummary]
    /// Invites an account, by its e-mail address or its id, to read and write a list of this
    /// account. The list is shared once the other account has accepted. Waits for the network.
    func share(_ list: String, with user: String) async throws -> ListSummary
    /// Stops sharing a list of this account with one account, or with all if `user` is nil, and
    /// withdraws its invitations. Leaves the list if it belongs to another account. Waits for the
    /// network if `user` is an e-mail address.
    func unshare(_ list: String, from user: String?) async throws -> ListSummary
    /// Returns the invitations without an answer: first those to this account, oldest first, then
    /// those that it has sent.
    func invitations() async throws -> [InvitationSummary]
    /// Accepts or declines an invitation to this account, which is named by its number in
    /// `invitations()` or by a prefix of its id. Accepting waits for the network.
    func answerInvitation(_ invitation: String, _ answer: InvitationAnswer) async throws -> InvitationSummary
    /// Returns the accounts whose invitations are declined automatically.
    func blocks() async throws -> [BlockSummary]
    /// Blocks or unblocks an account. Invitations of a blocked account are declined, including
    /// those that wait for an answer. Waits for the network if `user` is an e-mail address that is
    /// not known here.
    func setBlocked(_ user: String, _ isBlocked: Bool) async throws -> [BlockSummary]

    /// Attaches files to a task, all or none. Returns once the files are copied into the tasks
    /// directory and the uploads are queued. Each call rewrites the document of the task, so small
    /// files should be attached together.
    func attach(_ task: String, _ files: [FileToAttach]) async throws -> [TransferSummary]
    /// Removes an attachment from a task.
    func detach(_ task: String, attachment: String) async throws
    /// Downloads an attachment. The transfer is done already if the file is on this device.
    func fetch(_ task: String, attachment: String) async throws -> TransferSummary
    /// Pins or unpins a task. All attachments of a pinned task, also future ones, are kept on this
    /// device. Returns the transfers of the missing attachments.
    func setPinned(_ task: String, _ isPinned: Bool) async throws -> [TransferSummary]
    /// Returns the transfers in progress, waiting and recently ended.
    func transfers() async throws -> [TransferSummary]
    /// Pauses, resumes or cancels transfers. `ids` are prefixes of ids; an empty array means all.
    func changeTransfers(_ action: TransferAction, ids: [String]) async throws -> [TransferSummary]

    /// Looks for changes on both sides now. With `wait` it returns when the remote has acknowledged
    /// all local changes and all remote changes are in files.
    ///
    /// Throws `timed-out` or `offline` after `timeout`, `attention` if only changes are left that
    /// need a decision of the user, and `paused` while syncing is paused.
    func sync(wait: Bool, timeout: Duration) async throws -> DaemonStatus
    /// Returns what a sync would do now, without changing anything.
    func plan() async throws -> SyncPlan
    /// Pauses or resumes syncing.
    func setPaused(_ isPaused: Bool) async throws -> DaemonStatus
    /// Adopts the tasks directory and the server as they are now. Both sides are merged, and
    /// nothing is deleted.
    ///
    /// - Throws: `invalid-argument` if neither is held.
    func rebind() async throws -> DaemonStatus

    /// Returns the deletes that wait for approval.
    func heldDeletes() async throws -> [HeldDelete]
    /// Sends held deletes, or restores the files. Empty `tasks` means all.
    func decideDeletes(_ decision: DeleteDecision, tasks: [String]) async throws -> [HeldDelete]
    /// Returns the tasks in the trash.
    func trash() async throws -> [TrashedTask]
    /// Moves tasks from the trash back to their lists.
    func restore(_ tasks: [String]) async throws -> [TaskSummary]
    /// Returns the open conflicts.
    func conflicts() async throws -> [ConflictSummary]
    /// Resolves conflicts. `mine` and `dismiss` keep the current value, `theirs` restores the
    /// displaced one. Empty `ids` means all.
    func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary]

    /// Returns the values of a task that merges have displaced, newest first, including those of
    /// resolved conflicts.
    func history(_ task: String) async throws -> [ConflictSummary]
    /// Returns which device set each field of a task, and why. The task may be in the trash.
    func explanation(_ task: String) async throws -> TaskExplanation
    /// Undoes the last command on this device that changed tasks, or the last change of one task.
    /// Undoing is a new change.
    ///
    /// - Parameter isTrial: Whether to return only what would be undone.
    func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary]

    /// Returns the reminders that are due or come next on this device, in order of time, at most 100
    /// of each.
    func reminders() async throws -> ReminderListing
    /// Returns the devices of the account, this one first.
    func devices() async throws -> [DeviceSummary]
    /// Checks the health of the daemon and its environment. Waits for the network for at most some
    /// seconds.
    func health() async throws -> [HealthCheck]
    /// Returns the last lines of the daemon's log, oldest first.
    func log() async throws -> [LogLine]
    /// Returns the settings in effect.
    func configuration() async throws -> [SettingSummary]
    /// Returns the settings that would be in effect with this text as the configuration file.
    /// Errors call the file `name`.
    ///
    /// - Throws: `invalid-argument` with the line and the most similar valid key.
    func checkConfiguration(_ text: String, named name: String) async throws -> [SettingSummary]

    /// Signs in, and creates the account if the request says so. Waits for the network.
    ///
    /// - Throws: `conflict` if the tasks directory belongs to another permanent account, unless the
    ///   request sets `merges`.
    func signIn(_ request: SignInRequest) async throws -> AccountSummary
    /// Begins a sign-in with an OpenID provider, in place of one that has begun before. Waits for the
    /// network.
    func beginSignIn(_ request: ProviderSignInRequest) async throws -> ProviderSignIn
    /// Waits until the user has signed in at the provider, and signs in or links.
    ///
    /// - Throws: `conflict` as `signIn` does; `already-there` if the provider's account belongs to another
    ///   account than the one to link it to. Another decision may follow.
    func finishSignIn(_ decision: ProviderSignInDecision) async throws -> AccountSummary
    /// Changes the account's name, or removes a provider from it. Waits for the network.
    func changeAccount(name: String?, removing provider: String?) async throws
    /// Turns the anonymous account into a permanent one. Waits for the network.
    func link(email: String, password: String) async throws -> AccountSummary
    /// Replaces the password of the account. Its other devices have to sign in again. Waits for the
    /// network.
    func changePassword(from old: String, to new: String) async throws
    /// Signs out. The tasks directory stays as it is.
    func signOut() async throws
    /// Returns the account.
    func account() async throws -> AccountSummary
    /// Returns what the account uses on the server; nil if the server does not report it. Waits for
    /// the network.
    func usage() async throws -> AccountUsageSummary?
    /// Returns when the account gets its mail in the morning; nil if it gets none. Waits for the network.
    func morningMail() async throws -> MorningMailSummary?
    /// Sets when the account gets its mail in the morning; nil ends the mails. Waits for the network.
    func setMorningMail(_ mail: MorningMailSummary?) async throws

    /// Returns the events after `lastEventID`, or from now on if it is nil. The stream begins with
    /// an event of the status and ends when the daemon stops.
    func events(after lastEventID: UInt64?) async throws -> AsyncThrowingStream<ControlEvent, any Error>
}

extension ControlService {
    /// Creates a task as one of several.
    package func add(_ change: TaskChange) async throws -> TaskSummary {
        guard let result = try await add([change]).first else {
            throw ControlError(.internal, "The task was not added.")
        }
        return try result.get()
    }
}

/// The answer to an invitation.
package enum InvitationAnswer: String, Sendable {
    case accept
    case decline
}

/// A command to transfers.
package enum TransferAction: String, Sendable {
    case pause
    case resume
    case cancel
}

/// The decision on a held delete: send it, or restore the file.
package enum DeleteDecision: String, Sendable {
    case approve
    case restore
}

/// The decision on a conflict.
package enum ConflictDecision: String, Sendable {
    case mine
    case theirs
    case dismiss
}

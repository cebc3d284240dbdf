import Control
import DocumentClient
import DocumentModel
import TaskModel
import TaskSync

/// Puts the daemon's status together.
struct StatusReporter: Sendable {
    let access: SyncAccess
    let tasksDirectory: String

    /// The status at this moment.
    func status() async throws -> DaemonStatus {
        let signedIn = await access.account.current
        var status = DaemonStatus(
            version: DaemonTool.version, state: .starting, tasksDirectory: tasksDirectory)
        status.account = signedIn
        status.problems = await access.engine.notices
        guard signedIn != nil else {
            if let stack = await access.engine.stack {
                let counts = await stack.sync.counts()
                status.take(counts)
                status.set(
                    .needsSignIn, "Nobody is signed in; tasks are kept on this machine only.", hint: Account.nobody.hint
                )
                if let hold = counts.rootHold { status.set(.rootHeld, hold.message, hint: hold.hint) }
            } else {
                status.set(.needsSignIn, "Nobody is signed in.", hint: Account.nobody.hint)
            }
            return await finished(status)
        }
        guard let stack = await access.engine.stack else {
            if let trouble = await access.engine.trouble {
                status.set(.starting, "Syncing stopped and will be retried: \(trouble.message)", hint: trouble.hint)
            }
            return await finished(status)
        }
        let client = stack.clientStatus
        let counts = await stack.sync.counts()
        status.take(counts)
        status.take(client)
        if client.parkedCount > 0, let refusals = try? await stack.sync.refusals() {
            status.problems += refusals.map {
                Problem(code: $0.code, subject: $0.subject, message: $0.message, hint: $0.hint)
            }
        }
        status.lastSync = stack.lastInStep.map { Timestamp(microseconds: $0 * 1000).rfc3339 }
        status.pendingDown = (try? await stack.sync.pendingExports()) ?? 0
        if let open = try? await ListInvitations(access: access).open() {
            (status.invitations, status.sentInvitations) = (open.received.count, open.sent.count)
        }
        if let reason = await access.account.otherAccounts {
            status.set(
                .serverHeld, reason,
                hint: "Ask its administrator. Changes are kept and sent when the data is back. If it is lost: "
                    + "ferry login URL --email ADDRESS --create --merge")
        }
        if client.parkedCount > 0 { status.take(refusals: try await stack.client.refusedForQuota()) }
        if let hold = counts.rootHold {
            status.set(.rootHeld, hold.message, hint: hold.hint)
        } else if await access.engine.isPaused {
            status.set(.paused, "Syncing is paused.", hint: "ferry resume")
        }
        return await finished(status)
    }

    private func finished(_ status: DaemonStatus) async -> DaemonStatus {
        guard await access.engine.isStopping else { return status }
        var status = status
        status.set(.stopping, "The daemon is stopping.", hint: nil)
        return status
    }
}

/// The figures that the sync reports of itself, of one moment.
struct SyncCounts: Sendable {
    var tasks = 0
    var open = 0
    var trashed = 0
    var held = 0
    var reverts = 0
    var conflicts = 0
    var activeTransfers = 0
    var waitingTransfers = 0
    var pausedTransfers = 0
    var failedTransfers = 0
    /// The reason why a transfer waits to be retried.
    var transfersWaitFor: String?
    var problems: [SyncProblem] = []
    var rootHold: SyncProblem?
}

extension TaskSync {
    func counts() -> SyncCounts {
        var counts = SyncCounts()
        counts.tasks = catalog.count
        counts.open = catalog.openCount
        counts.trashed = catalog.trashedCount
        let held = heldDeletes
        counts.reverts = held.count(where: \.isRevert)
        counts.held = held.count - counts.reverts
        counts.conflicts = conflictCount
        for transfer in transfersByID.values {
            switch transfer.phase {
            case .running: counts.activeTransfers += 1
            case .queued: counts.waitingTransfers += 1
            case .waiting where transfer.needsHelp: counts.failedTransfers += 1
            case .waiting(let why):
                counts.waitingTransfers += 1
                counts.transfersWaitFor = min(why, counts.transfersWaitFor ?? why)
            case .paused: counts.pausedTransfers += 1
            case .failed: counts.failedTransfers += 1
            case .done, .cancelled: break
            }
        }
        counts.problems = allProblems
        counts.rootHold = rootHold
        return counts
    }
}

extension DaemonStatus {
    mutating func set(_ state: State, _ reason: String, hint: String?) {
        self.state = state
        self.reason = reason
        self.hint = hint
    }

    mutating func take(_ counts: SyncCounts) {
        taskCount = counts.tasks
        openTaskCount = counts.open
        trashed = counts.trashed
        heldDeletes = counts.held
        heldReverts = counts.reverts
        conflicts = counts.conflicts
        activeTransfers = counts.activeTransfers
        waitingTransfers = counts.waitingTransfers
        transfersWaitFor = counts.transfersWaitFor
        pausedTransfers = counts.pausedTransfers
        failedTransfers = counts.failedTransfers
        problems += counts.problems.map {
            Problem(code: $0.code, subject: $0.subject, message: $0.message, hint: $0.hint)
        }
    }

    mutating func take(_ client: ClientStatus) {
        pendingUp = client.pendingCount
        rejected = client.parkedCount
        oldestPendingSeconds = client.oldestPendingMilliseconds.map {
            max(0, Double(Clocks.wallMilliseconds() - $0) / 1000)
        }
        switch client.connection {
        case .stopped, .connecting: set(.starting, "Connecting to the server.", hint: nil)
        case .online:
            guard !client.isCurrent else {
                (state, reason, hint) = (.running, nil, nil)
                break
            }
            set(.starting, "Catching up with the server.", hint: nil)
        case .offline(let why):
            set(
                .offline, why,
                hint: "Changes are kept and sent when it is back; 'ferry doctor' checks for problems.")
        case .needsSignIn:
            set(.needsSignIn, "The server does not accept this machine's sign-in any more.", hint: Account.nobody.hint)
        case .otherRemote(let why):
            set(.serverHeld, why, hint: "If that is intended, run ferry rebind on every machine. Nothing is deleted.")
        }
        for (query, why) in client.refusedQueries.sorted(by: { $0.key.collectionID ?? "" < $1.key.collectionID ?? "" })
        {
            problems.append(
                Problem(
                    code: "refused", subject: query.collectionID,
                    message: "The server does not let this account watch: \(why)",
                    hint: "Sign in to the right account: ferry login URL"))
        }
        take(refusedLists: client.refusedOptionalQueries)
    }

    mutating func take(refusedLists refused: [Query: String]) {
        // Two queries watch each list: one for its tasks and one for their history. Report the list
        // once.
        for (query, why) in refused.sorted(by: { "\($0.key)" < "\($1.key)" }) where query.collectionID == "tasks" {
            problems.append(
                Problem(
                    code: "refused", subject: "a shared list",
                    message: "The server does not let this account watch a list of another account now: \(why)",
                    hint: "Other lists are synced. The server is asked again with the next connection."))
        }
    }

    mutating func take(refusals: [String]) {
        guard let first = refusals.first else { return }
        problems.append(
            Problem(
                code: "quota", message: "\(Count(refusals.count, "change")) cannot be sent. \(first)",
                hint:
                    "They are kept here and retried every few minutes; 'ferry whoami' shows the account's usage.")
        )
    }

    /// The status as one line for `systemctl status`.
    var line: String {
        var parts: [String] = []
        if let reason { parts.append(reason) } else { parts.append("\(Count(taskCount, "task"))") }
        if pendingUp > 0 { parts.append("\(Count(pendingUp, "change")) to send") }
        if pendingDown > 0 { parts.append("\(Count(pendingDown, "change")) to write") }
        if activeTransfers + waitingTransfers > 0 {
            parts.append("\(Count(activeTransfers + waitingTransfers, "transfer"))")
        }
        if heldDeletes > 0 { parts.append("\(Count(heldDeletes, "held delete"))") }
        if heldReverts > 0 { parts.append("\(Count(heldReverts, "held revert"))") }
        if conflicts > 0 { parts.append("\(Count(conflicts, "conflict"))") }
        if !problems.isEmpty { parts.append("\(Count(problems.count, "problem"))") }
        if isInSync, parts.count == 1 { parts.append("all synced") }
        return "\(state.rawValue): \(parts.joined(separator: ", "))"
    }
}

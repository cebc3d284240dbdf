import Control
import DocumentClient
import SystemIO
import SystemService
import TaskSync

/// Waits until this machine and the server are in step.
struct SyncWait: Sendable {
    let reporter: StatusReporter
    let hub: EventHub
    private var access: SyncAccess { reporter.access }

    /// Scans the directory and returns once the server has acknowledged all local changes and all remote changes are in
    /// files.
    ///
    /// - Throws: `ControlError` if that takes longer than `timeout`, or cannot end without the user.
    func run(within timeout: Duration) async throws -> DaemonStatus {
        let settling = Task {
            try await access.asking { try await $0.rescanNow() }
            return try await settle()
        }
        let limit = min(max(timeout, .zero), .seconds(86_400))
        if let status = try await settling.value(within: limit) { return status }
        throw try await unsettled(timeout)
    }

    /// Waits until nothing is left to do.
    private func settle() async throws -> DaemonStatus {
        let changes = hub.subscribe()
        while true {
            try Task.checkCancellation()
            let stack = try await access.stack()
            let status = try await reporter.status()
            switch status.state {
            case .needsSignIn: throw ControlError(.needsSignIn, status.reason ?? "", hint: status.hint)
            case .paused: throw ControlError(.paused, status.reason ?? "", hint: status.hint)
            case .rootHeld, .serverHeld, .configurationError, .stopping:
                throw ControlError(.unavailable, status.reason ?? "", hint: status.hint)
            case .starting, .running, .offline, .unknown: break
            }
            let client = await stack.client.currentStatus
            let isSettled = try await stack.sync.isSettled()
            if isSettled, client.connection == .online, client.isCurrent, client.pendingCount == 0 {
                if let left = try await reporter.status().left { throw left }
                return status
            }
            await changes.wait()
        }
    }

    /// Returns the reason why the sync did not complete in time.
    private func unsettled(_ timeout: Duration) async throws -> ControlError {
        let seconds = timeout.components.seconds
        let asking = Task { try await reporter.status() }
        guard let status = try await asking.value(within: .seconds(5)) else {
            return ControlError(
                .timedOut, "Not in sync after \(seconds) s: the daemon does not respond. \(stuck ?? "")",
                hint: "'systemctl --user restart ferryd' restarts it; nothing is lost.", isRetryable: true)
        }
        guard status.state != .offline else {
            return ControlError(
                .offline, status.reason ?? "The server cannot be reached.",
                hint: "Changes are kept and sent when it is back.", isRetryable: true)
        }
        var waiting = ["\(Count(status.pendingUp, "change")) to send", "\(status.pendingDown) to write"]
        let transfers = status.activeTransfers + status.waitingTransfers
        if transfers > 0 { waiting.append("\(Count(transfers, "transfer"))") }
        return ControlError(
            .timedOut,
            "Not in sync after \(seconds) s: \(waiting.joined(separator: ", ")) left."
                + (stuck.map { " \($0)" } ?? ""),
            hint: "The daemon continues; 'ferry status --watch' shows its progress.", isRetryable: true)
    }

    /// The activities that have taken long; nil if there are none.
    private var stuck: String? {
        access.engine.activity.summary(longerThan: .seconds(5)).map { "In progress: \($0)." }
    }
}

extension DaemonStatus {
    /// The changes that wait for the user although everything else is in sync; nil if there are none.
    /// Conflicts do not count, because they have been synced.
    var left: ControlError? {
        let stuck = problems.filter { Self.stuckCodes.contains($0.code) || $0.code.hasPrefix("attachment-") }
        let parts = [
            (rejected, "\(Count(rejected, "change was", "changes were")) refused by the server"),
            (heldDeletes, "\(Count(heldDeletes, "delete is", "deletes are")) held for review"),
            (heldReverts, "\(Count(heldReverts, "revert is", "reverts are")) held for review"),
            (pausedTransfers, "\(Count(pausedTransfers, "transfer is", "transfers are")) paused"),
            (failedTransfers, "\(Count(failedTransfers, "transfer has", "transfers have")) failed"),
            (stuck.count, "\(Count(stuck.count, "problem is", "problems are")) in the way"),
        ].filter { $0.0 > 0 }.map(\.1)
        guard !parts.isEmpty else { return nil }
        return ControlError(
            .attention, "Not everything is in sync: \(parts.joined(separator: ", ")).",
            hint: "'ferry status' lists them and what to do.")
    }

    /// Problems of what is known and cannot be brought where it belongs.
    private static let stuckCodes: Set<String> = [
        "not-written", "not-removed", "scan-failed", "not-watched", "watch-limit", "list-not-made", "disk-full",
    ]
}

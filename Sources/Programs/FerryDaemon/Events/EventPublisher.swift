import Control
import DocumentClient
import DocumentModel
import JSON
import SystemIO
import SystemService
import TaskModel
import TaskSync

/// A service that publishes changes as events, and updates the status line of `systemctl status`.
struct EventPublisher: Service {
    let service: DaemonService
    let engine: SyncEngine
    let hub: EventHub
    let supervisor: Supervisor
    let logger: Logger

    /// The minimum time between two looks while a client listens, which limits events to ten a
    /// second for each kind and subject.
    private static let pace = Duration.milliseconds(100)
    /// The minimum time between two looks while no client listens.
    private static let idlePace = Duration.milliseconds(250)

    func run() async throws {
        let publishing = Task { await publish() }
        await withTaskCancellationHandler {
            await GracefulStop.wait()
        } onCancel: {
            publishing.cancel()
        }
        publishing.cancel()
        await publishing.value
        supervisor.status("stopping")
    }

    private func publish() async {
        let changes = hub.subscribe()
        var seen: Seen?
        var lastStatus: JSON?
        var log = StateLog()
        while !Task.isCancelled {
            if let status = try? await service.status() {
                supervisor.status(status.line)
                for line in log.lines(for: status) { logger.log(line.level, line.text) }
                var json = status.json
                // These values change with time alone, which is not worth an event.
                if case .object(var members) = json {
                    members["oldestPendingSeconds"] = nil
                    members["lastSync"] = nil
                    json = .object(members)
                }
                if json != lastStatus {
                    if lastStatus != nil { hub.publish(.status, status.json) }
                    lastStatus = json
                }
            }
            if let stack = await engine.stack, let first = stack.firstSequence {
                let old = seen.flatMap { $0.stack == ObjectIdentifier(stack) ? $0 : nil }
                seen = (try? await look(at: stack, after: old, first)) ?? old
            }
            try? await Task.sleep(for: hub.hasListeners ? Self.pace : Self.idlePace)
            await changes.wait()
        }
    }

    // MARK: What is new

    /// The state that listeners have been notified of.
    private struct Seen: Sendable {
        /// The stack that the state belongs to.
        let stack: ObjectIdentifier
        var sequence: Int64
        var transfers: [String: SeenTransfer]
        var conflicts: Set<String>
        var held: Set<TaskID>
        var invitations: Set<InvitationSummary>
    }

    /// The maximum number of task changes that one look processes.
    private static let limit = 500

    /// Publishes the changes since the last look, or since the stack started. Items that were
    /// waiting for the user before that are not reported.
    ///
    /// Publishing continues while no client listens, because a client that reconnects asks for the
    /// events that it missed.
    private func look(at stack: SyncStack, after old: Seen?, _ firstSequence: Int64) async throws -> Seen {
        let transfers = await stack.sync.takeTransfersByID(SeenTransfer.init)
        let conflicts = await stack.sync.conflictCount > 0 ? try await stack.sync.conflicts() : []
        let held = await stack.sync.heldDeletes
        let invitations = try await service.invitations()
        var new = Seen(
            stack: ObjectIdentifier(stack), sequence: firstSequence, transfers: transfers,
            conflicts: Set(conflicts.map(\.id)), held: Set(held.map(\.entry.id)), invitations: Set(invitations))
        let old =
            old
            ?? Seen(
                stack: new.stack, sequence: firstSequence, transfers: [:], conflicts: new.conflicts, held: new.held,
                invitations: new.invitations)
        let moved = transfers.filter { old.transfers[$0.key] != $0.value }
        for (_, transfer) in moved.sorted(by: { $0.key < $1.key }) { hub.publish(.transfer, transfer.summary.json) }
        let news = Set(conflicts.map(\.id)).subtracting(old.conflicts)
        if !news.isEmpty {
            for conflict in try await service.conflicts() where news.contains(conflict.id) {
                hub.publish(.conflict, conflict.json)
            }
        }
        let names = await stack.sync.catalog.listNames
        for delete in held where !old.held.contains(delete.entry.id) {
            hub.publish(.delete, HeldDelete(delete.entry, since: delete.since, isRevert: delete.isRevert, names).json)
        }
        for invitation in invitations where !old.invitations.contains(invitation) {
            hub.publish(.invitation, invitation.json)
        }
        new.sequence = try await publishTasks(of: stack, after: old.sequence)
        return new
    }

    /// Publishes the tasks that changed after a position in the feed, and returns the new position.
    private func publishTasks(of stack: SyncStack, after sequence: Int64) async throws -> Int64 {
        // Changes that the bridge has not processed are not in its catalog. The end of its turn
        // pokes again.
        guard try await stack.sync.pendingExports() == 0 else { return sequence }
        let notices = try await stack.client.reading { try $0.changes(after: sequence, limit: Self.limit) }
        guard let last = notices.last else { return sequence }
        // Without a listener, skip more changes than the ring could replay later.
        guard hub.hasListeners || notices.count < Self.limit else {
            return try await stack.client.reading { $0.latestSequence }
        }
        let ids = Set(notices.filter { $0.name.collectionPath == "tasks" }.map { TaskID($0.name.id) })
        let entries = await stack.sync.entries(of: ids.sorted()).entries
        let living = entries.filter { $0.deletion == nil }.map(\.id)
        for summary in try await service.lookup.summaries(of: living, stack.sync) { hub.publish(.task, summary.json) }
        let titles = Dictionary(entries.map { ($0.id, $0.title) }, uniquingKeysWith: { $1 })
        for id in ids.subtracting(living).sorted() {
            hub.publish(.task, ["id": .string(id.rawValue), "title": .string(titles[id] ?? ""), "deleted": true])
        }
        if notices.count == Self.limit { hub.poke() }
        return last.sequence
    }
}

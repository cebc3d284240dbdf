import Control
import TaskModel
import TaskSync

extension DaemonService {
    /// Starts a sync. With `wait`, returns when the server has acknowledged all local changes and all
    /// remote changes are in files.
    func sync(wait: Bool, timeout: Duration) async throws -> DaemonStatus {
        guard await identity.current != nil else {
            // Tasks without an account are looked for as well, so that an import or an export knows all of them.
            if !wait { try await asking { try await $0.rescanNow() } }
            throw Account.nobody
        }
        _ = try await stack()
        if await engine.isPaused {
            throw ControlError(.paused, "Syncing is paused.", hint: "ferry resume")
        }
        await identity.lookForAccounts()
        await engine.hurry()
        guard wait else {
            try await asking { try await $0.rescanNow() }
            return try await status()
        }
        return try await SyncWait(reporter: reporter, hub: hub).run(within: timeout)
    }

    func rebind() async throws -> DaemonStatus {
        let status = try await status()
        if let reason = await identity.otherAccounts {
            throw ControlError(.unavailable, "\(reason) A rebind does not help.", hint: status.hint)
        }
        guard status.state == .rootHeld || status.state == .serverHeld else {
            throw ControlError(
                .invalidArgument, "Nothing is held: the tasks directory and the server have not changed.",
                hint: "'ferry status' shows the state.")
        }
        await engine.rebind()
        return try await self.status()
    }

    func plan() async throws -> SyncPlan {
        let sync = try await stack().sync
        let status = try await status()
        let remark: String? =
            switch status.state {
            case .rootHeld, .serverHeld: "\(status.reason ?? "") Until that is resolved, nothing is synced."
            case .paused:
                "Syncing is paused: 'ferry resume' starts with these steps. Newer changes on the server are unknown."
            case .running: nil
            default: "\(status.reason ?? "") Newer changes on the server are unknown."
            }
        let words = FieldWords(listNames: await sync.catalog.listNames)
        let steps = try await asking { try await $0.preview() }.map { step in
            let labels = step.fields.map(words.label)
            let fields = Set(labels).sorted().joined(separator: ", ")
            let detail = [step.reason, fields.isEmpty ? nil : fields].compactMap(\.self).joined(separator: ": ")
            return SyncPlan.Step(
                action: step.action.rawValue, subject: step.subject, taskID: step.task?.rawValue,
                detail: detail.isEmpty ? nil : detail, size: step.size)
        }
        return SyncPlan(remark: remark, steps: steps)
    }

    func setPaused(_ isPaused: Bool) async throws -> DaemonStatus {
        try await engine.setPaused(isPaused)
        return try await status()
    }
}

import DocumentModel
import SystemIO

extension DocumentDatabase {
    /// The status now, and again whenever it changes; a slow reader gets the latest only.
    public var statuses: AsyncStream<ClientStatus> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = nextListener
            nextListener += 1
            statusStreams[id] = continuation
            continuation.yield(status)
            continuation.onTermination = { [weak self] _ in
                // Called in any context; the actor removes the stream.
                Task { await self?.dropStatusStream(id) }
            }
        }
    }

    /// The present status.
    public var currentStatus: ClientStatus { status }

    private func dropStatusStream(_ id: Int) { statusStreams[id] = nil }

    func updateStatus() {
        var new = status
        new.pendingCount = replica.journal.count - replica.journal.parkedCount
        new.parkedCount = replica.journal.parkedCount
        if new.pendingCount == 0 {
            new.oldestPendingMilliseconds = nil
        } else if new.oldestPendingMilliseconds == nil || new.pendingCount < status.pendingCount {
            new.oldestPendingMilliseconds = try? replica.oldestAppended()
        }
        new.isCurrent =
            !currentTargets.isEmpty && currentTargets.union(refusedOptionalTargets).isSuperset(of: targetUses.keys)
        guard new != status || lastStatus != new else { return }
        status = new
        lastStatus = new
        for stream in statusStreams.values { stream.yield(new) }
    }

    func heardFromRemote() {
        switch status.connection {
        case .connecting, .offline, .stopped: status.connection = .online
        case .online, .needsSignIn, .otherRemote: break
        }
    }

    func wentOffline(_ error: RemoteError) {
        switch status.connection {
        case .connecting, .online, .offline, .stopped:
            let what = error.code == .overloaded ? "The server takes nothing now" : "The server cannot be reached"
            status.connection = .offline("\(what): \(error.message)")
        case .needsSignIn, .otherRemote: break
        }
        updateStatus()
    }

    func requireSignIn() {
        needsSignIn = true
        if case .otherRemote = status.connection {} else { status.connection = .needsSignIn }
        updateStatus()
        stream?.close()
    }

    func noteRefused(_ target: Int32, _ error: RemoteError) {
        if optionalTargets.contains(target) {
            refusedOptionalTargets.insert(target)
            if let query = session.query(of: target) {
                status.refusedOptionalQueries[query] = "\(error.code): \(error.message)"
            }
            return updateStatus()
        }
        guard let query = session.query(of: target) else { return }
        status.refusedQueries[query] = "\(error.code): \(error.message)"
        updateStatus()
    }

    func noteCurrent(_ targets: Set<Int32>) {
        refusedOptionalTargets.subtract(targets)
        for target in targets where !status.refusedQueries.isEmpty || !status.refusedOptionalQueries.isEmpty {
            guard let query = session.query(of: target) else { continue }
            status.refusedQueries[query] = nil
            status.refusedOptionalQueries[query] = nil
        }
        guard targets != currentTargets else { return }
        let changed = targets.symmetricDifference(currentTargets)
        currentTargets = targets
        for listener in listeners.values where listener.target.map(changed.contains) == true { listener.wakeup.set() }
        updateStatus()
    }
}

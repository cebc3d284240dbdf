import DocumentModel
import SystemIO

extension DocumentDatabase {
    /// The status now, and again whenever it changes; a slow reader gets the latest only.
    public var statuses: AsyncStream<ClientStatus> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = observers.addStatusStream(continuation)
            continuation.yield(status)
            continuation.onTermination = { [weak self] _ in
                // Called in any context; the actor removes the stream.
                Task { await self?.dropStatusStream(id) }
            }
        }
    }

    /// The present status.
    public var currentStatus: ClientStatus { status }

    private func dropStatusStream(_ id: Int) { observers.removeStatusStream(id) }

    func updateStatus() {
        var new = status
        new.count(replica.journal, oldest: { try? replica.reader.oldestAppended() })
        new.isCurrent = watched.areCurrent && (status.isCurrent || replica.held.isEmpty)
        guard new != status || lastStatus != new else { return }
        (status, lastStatus) = (new, new)
        observers.report(new)
    }

    func heardFromRemote() { status.heardFromRemote() }

    func wentOffline(_ error: RemoteError) {
        status.wentOffline(error)
        updateStatus()
    }

    func requireSignIn() {
        needsSignIn = true
        if case .otherRemote = status.connection {} else { status.connection = .needsSignIn }
        updateStatus()
        stream?.close()
    }

    func noteRefused(_ target: Int32, _ error: RemoteError) {
        let isOptional = watched.refuse(target)
        if let query = session.query(of: target) { status.refused(query, error, isOptional: isOptional) }
        if !error.code.isTransient { observers.refuse(target, error) }
        updateStatus()
    }

    func noteCurrent(_ targets: Set<Int32>) {
        if status.hasRefusals { status.accepted(targets.compactMap { session.query(of: $0) }) }
        let changed = watched.setCurrent(targets)
        guard !changed.isEmpty else { return }
        observers.wakeListeners(of: changed)
        updateStatus()
    }
}

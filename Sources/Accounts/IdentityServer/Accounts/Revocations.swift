import Synchronization

/// The ID tokens that are revoked although they have not expired: those of accounts that are
/// disabled, deleted or have a new password. Kept in memory, because every call to the server is
/// checked.
package final class Revocations: Sendable {
    private struct State {
        var since: [String: Int64] = [:]
        var watchers: [UInt64: AsyncStream<Set<String>>.Continuation] = [:]
        var lastWatcher: UInt64 = 0
    }

    private let state = Mutex(State())

    func replace(with since: [String: Int64]) {
        let (accounts, watchers) = state.withLock { state in
            let accounts = Set(since.filter { state.since[$0.key] != $0.value }.keys)
            state.since = since
            return (accounts, Array(state.watchers.values))
        }
        guard !accounts.isEmpty else { return }
        for watcher in watchers { watcher.yield(accounts) }
    }

    /// A stream of the accounts whose tokens were revoked, which ends when the waiting task is cancelled.
    package var changes: AsyncStream<Set<String>> {
        let (stream, watcher) = AsyncStream<Set<String>>.makeStream()
        let id = state.withLock { state in
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = watcher
            return state.lastWatcher
        }
        watcher.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) }
        }
        return stream
    }

    /// Whether a token is revoked.
    ///
    /// - Parameter issuedAt: The token's time of issue, in seconds since 1970.
    package func isRevoked(user: String, issuedAt: Int64) -> Bool {
        state.withLock { $0.since[user].map { issuedAt < $0 } ?? false }
    }
}

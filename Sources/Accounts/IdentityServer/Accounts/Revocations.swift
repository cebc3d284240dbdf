import Synchronization

/// Which ID tokens count no more although they have not expired: of accounts that are disabled, deleted or have a new
/// password. In memory, as every call to the server asks.
package final class Revocations: Sendable {
    private struct State {
        var since: [String: Int64] = [:]
        var watchers: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var lastWatcher: UInt64 = 0
    }

    private let state = Mutex(State())

    func replace(with since: [String: Int64]) {
        let watchers = state.withLock { state in
            state.since = since
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.yield() }
    }

    /// Yields after each change until the task that waits is cancelled; changes that come together may be told once.
    package var changes: AsyncStream<Void> {
        let (stream, watcher) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
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

    /// - Parameter issuedAt: seconds since 1970, as in the token.
    package func isRevoked(user: String, issuedAt: Int64) -> Bool {
        state.withLock { $0.since[user].map { issuedAt < $0 } ?? false }
    }
}

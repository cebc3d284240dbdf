import Synchronization

/// Caches the credentials in use and fetches new ones before they expire, once for all concurrent
/// requests. It is no actor, because a change of executors for each request would be too slow.
final class S3CredentialCache: Sendable {
    /// The number of seconds before their expiry at which credentials are replaced: longer than any
    /// request takes.
    private static let margin: Int64 = 300

    private struct State {
        var current: S3Credentials?
        var fetch: Task<S3Credentials, any Error>?
    }

    private let provider: S3Credentials.Provider
    private let state = Mutex(State())

    init(_ provider: @escaping S3Credentials.Provider) { self.provider = provider }

    /// Returns credentials that are valid for at least `margin`, and fetches them if necessary.
    ///
    /// - Parameter now: The current time in seconds since 1970, by the clock of the store.
    func credentials(now: Int64) async throws -> S3Credentials {
        let (current, fetch) = state.withLock { state in
            if let current = state.current, current.expires.map({ $0 - now > Self.margin }) ?? true {
                return (current as S3Credentials?, nil as Task<S3Credentials, any Error>?)
            }
            if state.fetch == nil {
                // Not a child task of the first request: if that request is cancelled, the others
                // still need the credentials.
                state.fetch = Task { try await self.fetched() }
            }
            return (nil, state.fetch)
        }
        if let current { return current }
        guard let fetch else { return try await provider() }
        return try await fetch.value
    }

    /// Forgets credentials that the store has rejected.
    func reject(_ accessKey: String) {
        state.withLock { if $0.current?.accessKey == accessKey { $0.current = nil } }
    }

    private func fetched() async throws -> S3Credentials {
        do {
            let fetched = try await provider()
            state.withLock { ($0.current, $0.fetch) = (fetched, nil) }
            return fetched
        } catch {
            state.withLock { $0.fetch = nil }
            throw error
        }
    }
}

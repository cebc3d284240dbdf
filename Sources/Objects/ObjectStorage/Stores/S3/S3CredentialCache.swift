import Synchronization

/// Holds the keys in use and fetches new ones before they expire, once for all who wait. No actor: each request would cost a
/// change of executors.
final class S3CredentialCache: Sendable {
    /// So long before they expire keys are replaced, in seconds: longer than any request takes.
    private static let margin: Int64 = 300

    private struct State {
        var current: S3Credentials?
        var fetch: Task<S3Credentials, any Error>?
    }

    private let provider: S3Credentials.Provider
    private let state = Mutex(State())

    init(_ provider: @escaping S3Credentials.Provider) { self.provider = provider }

    /// - Parameter now: by the store's clock, in seconds since 1970.
    func credentials(now: Int64) async throws -> S3Credentials {
        let (current, fetch) = state.withLock { state in
            if let current = state.current, current.expires.map({ $0 - now > Self.margin }) ?? true {
                return (current as S3Credentials?, nil as Task<S3Credentials, any Error>?)
            }
            if state.fetch == nil {
                // Not a child of whoever asks first: if that one is cancelled the others still want the answer.
                state.fetch = Task { try await self.fetched() }
            }
            return (nil, state.fetch)
        }
        if let current { return current }
        guard let fetch else { return try await provider() }
        return try await fetch.value
    }

    /// Forgets keys that the store has refused.
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

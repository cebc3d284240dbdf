/// Holds the keys in use and fetches new ones before they expire, once for all who wait.
actor S3CredentialCache {
    /// So long before they expire keys are replaced, in seconds: longer than any request takes.
    private static let margin: Int64 = 300

    private let provider: S3Credentials.Provider
    private var current: S3Credentials?
    private var fetch: Task<S3Credentials, any Error>?

    init(_ provider: @escaping S3Credentials.Provider) { self.provider = provider }

    /// - Parameter now: by the store's clock, in seconds since 1970.
    func credentials(now: Int64) async throws -> S3Credentials {
        if let current, current.expires.map({ $0 - now > Self.margin }) ?? true { return current }
        if let fetch { return try await fetch.value }
        // Not a child of whoever asks first: if that one is cancelled the others still want the answer.
        let fetch = Task { [provider] in try await provider() }
        self.fetch = fetch
        defer { self.fetch = nil }
        let fetched = try await fetch.value
        current = fetched
        return fetched
    }

    /// Forgets keys that the store has refused.
    func reject(_ accessKey: String) {
        if current?.accessKey == accessKey { current = nil }
    }
}

/// A store that repeats the operations of another store if they fail with a transient error.
///
/// A read that is interrupted continues where it stopped, unless the object was replaced meanwhile.
public struct RetryingObjectStore: ObjectStore {
    private let store: any ObjectStore
    private let policy: RetryPolicy
    private let generator: @Sendable () -> any RandomNumberGenerator & Sendable
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a retrying view of `store`.
    ///
    /// - Parameters:
    ///   - policy: The number of attempts and the delays between them.
    ///   - generator: The source of the randomness of the delays.
    ///   - sleep: Waits for a delay; it throws if the task is cancelled.
    public init(
        _ store: any ObjectStore, policy: RetryPolicy = RetryPolicy(),
        generator: @escaping @Sendable () -> any RandomNumberGenerator & Sendable = { SystemRandomNumberGenerator() },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.policy = policy
        self.generator = generator
        self.sleep = sleep
    }

    /// Puts the object, with retries.
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try await retrying { try await store.put(key, content, type: type, hash: hash) }
    }

    /// Opens the object, with retries. If the connection breaks, the rest is requested again.
    public func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        let content = try await retrying { try await store.get(key, range: range) }
        let reader = ResumingReader(content: content, range: range) { range in
            try await retrying { try await store.get(key, range: range) }
        }
        return ObjectContent(info: content.info, length: content.length) {
            try await reader.next()
        } rest: {
            try await reader.appendRest(to: &$0)
        }
    }

    /// Reads an object. The second attempt reads in parts, so that an interruption does not start
    /// it over.
    public func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8] {
        do {
            return try await store.read(key, limit: limit)
        } catch let error as ObjectStorageError where error.code.isTransient {
            try Task.checkCancellation()
            var (attempts, random) = (RetryPolicy.Attempts(policy), generator())
            guard let wait = attempts.wait(asked: error.retryAfter, using: &random) else { throw error }
            try await sleep(wait)
            return try await get(key).collect(limit: limit)
        }
    }

    /// Returns the properties of the object, with retries; nil if there is none.
    public func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        try await retrying { try await store.head(key) }
    }

    /// Lists objects, with retries.
    public func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await retrying { try await store.list(prefix: prefix, after: after, limit: limit) }
    }

    /// Deletes the object, with retries.
    public func delete(_ key: ObjectKey) async throws {
        try await retrying { try await store.delete(key) }
    }

    private func retrying<Result: Sendable>(_ operation: () async throws -> Result) async throws -> Result {
        var attempts = RetryPolicy.Attempts(policy)
        var random: any RandomNumberGenerator & Sendable = generator()
        while true {
            do {
                return try await operation()
            } catch let error as ObjectStorageError where error.code.isTransient {
                try Task.checkCancellation()
                guard let wait = attempts.wait(asked: error.retryAfter, using: &random) else { throw error }
                try await sleep(wait)
            }
        }
    }
}

import Synchronization

/// Keeps another store's traffic below a rate, up and down. Whoever shares one of these shares its rates.
public final class LimitedObjectStore: ObjectStore {
    private let store: any ObjectStore
    private let up: Mutex<TokenBucket?>
    private let down: Mutex<TokenBucket?>
    private let now: @Sendable () -> ContinuousClock.Instant
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Rates are in bytes a second; nil is no limit.
    public init(
        _ store: any ObjectStore, up: Int? = nil, down: Int? = nil,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.now = now
        self.sleep = sleep
        self.up = Mutex(up.map { TokenBucket(bytesPerSecond: $0, now: now()) })
        self.down = Mutex(down.map { TokenBucket(bytesPerSecond: $0, now: now()) })
    }

    /// Changes the rates; what is under way feels it with its next part.
    public func limit(up: Int?, down: Int?) {
        self.up.withLock { $0 = up.map { TokenBucket(bytesPerSecond: $0, now: now()) } }
        self.down.withLock { $0 = down.map { TokenBucket(bytesPerSecond: $0, now: now()) } }
    }

    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try await pace(up, content.count)
        try await store.put(key, content, type: type, hash: hash)
    }

    public func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        let content = try await store.get(key, range: range)
        return ObjectContent(info: content.info, length: content.length) { [self] in
            guard let part = try await content.makeAsyncIterator().next() else { return nil }
            try await pace(down, part.count)
            return part
        }
    }

    public func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await store.head(key) }

    public func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }

    public func delete(_ key: ObjectKey) async throws { try await store.delete(key) }

    private func pace(_ bucket: borrowing Mutex<TokenBucket?>, _ count: Int) async throws {
        let wait = bucket.withLock { $0?.take(count, now: now()) ?? .zero }
        if wait > .zero { try await sleep(wait) }
    }
}

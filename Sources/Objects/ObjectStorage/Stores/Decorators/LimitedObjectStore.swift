import Synchronization
package import SystemIO

/// A store that limits the rate of another store's uploads and downloads. All users of one instance
/// share its rates.
public final class LimitedObjectStore: ObjectStore {
    /// The maximum time until a changed rate affects waiting operations.
    private static let slice = Duration.seconds(1)

    private struct Rate {
        var bucket: TokenBucket?
        /// The number of changes of the rate.
        var version = 0

        mutating func change(_ bucket: TokenBucket?) {
            self.bucket = bucket
            version += 1
        }
    }

    private let store: any ObjectStore
    private let up: Mutex<Rate>
    private let down: Mutex<Rate>
    private let environment: Environment

    /// Creates a limited view of `store`. Rates are in bytes per second; nil is no limit.
    public convenience init(_ store: any ObjectStore, up: Int? = nil, down: Int? = nil) {
        self.init(store, up: up, down: down, environment: .system)
    }

    /// Creates a limited view in another environment.
    package init(_ store: any ObjectStore, up: Int? = nil, down: Int? = nil, environment: Environment) {
        self.store = store
        self.environment = environment
        self.up = Mutex(Rate(bucket: up.map { TokenBucket(bytesPerSecond: $0, now: environment.now()) }))
        self.down = Mutex(Rate(bucket: down.map { TokenBucket(bytesPerSecond: $0, now: environment.now()) }))
    }

    /// Changes the rates, in bytes per second; nil is no limit. A waiting operation continues
    /// within a second, a running one obeys the new rate from its next part on.
    public func limit(up: Int?, down: Int?) {
        let now = environment.now()
        self.up.withLock { $0.change(up.map { TokenBucket(bytesPerSecond: $0, now: now) }) }
        self.down.withLock { $0.change(down.map { TokenBucket(bytesPerSecond: $0, now: now) }) }
    }

    /// Puts the object, after the delay that the upload rate requires.
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        try await pace(up, content.count)
        try await store.put(key, content, type: type, hash: hash)
    }

    /// Opens the object. Each part is returned after the delay that the download rate requires.
    public func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        let content = try await store.get(key, range: range)
        let paced = ObjectContent(info: content.info, length: content.length) { [self] in
            guard let part = try await content.makeAsyncIterator().next() else { return nil }
            try await pace(down, part.count)
            return part
        }
        return ObjectContent(info: content.info, length: content.length) {
            try await paced.makeAsyncIterator().next()
        } rest: { [self] bytes in
            let isLimited = down.withLock { $0.bucket != nil }
            try await (isLimited ? paced : content).appendRest(to: &bytes)
        }
    }

    /// Reads the object within the download rate.
    public func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8] {
        // Content that arrives as a whole cannot be limited in between, so a limited store reads it
        // in parts.
        let isLimited = down.withLock { $0.bucket != nil }
        return try await isLimited ? get(key).collect(limit: limit) : store.read(key, limit: limit)
    }

    /// Returns the properties of the object, without a limit.
    public func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await store.head(key) }

    /// Lists objects, without a limit.
    public func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }

    /// Deletes the object, without a limit.
    public func delete(_ key: ObjectKey) async throws { try await store.delete(key) }

    private func pace(_ rate: borrowing Mutex<Rate>, _ count: Int) async throws {
        let now = environment.now()
        let (wait, version) = rate.withLock { ($0.bucket?.take(count, now: now) ?? .zero, $0.version) }
        var waited = Duration.zero
        while waited < wait, rate.withLock({ $0.version }) == version {
            waited = min(wait, waited + Self.slice)
            try await environment.sleepUntil(now + waited)
        }
    }
}

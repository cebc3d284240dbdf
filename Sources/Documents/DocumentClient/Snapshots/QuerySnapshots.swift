import SystemIO

/// The snapshots of a query: the first at once, then one whenever the results, or what is known of them, changed.
///
/// A slow reader receives fewer snapshots, never outdated ones: changes between two calls arrive as
/// one. Ending the loop or cancelling its task ends the subscription.
public struct QuerySnapshots: AsyncSequence, Sendable {
    /// A snapshot of the query's results.
    public typealias Element = QuerySnapshot

    let subscribe: @Sendable () async throws -> QuerySubscription

    /// Creates an iterator, which subscribes with its first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(subscribe: subscribe) }

    /// Iterates over the snapshots of a query.
    public struct Iterator: AsyncIteratorProtocol {
        let subscribe: @Sendable () async throws -> QuerySubscription
        private var subscription: QuerySubscription?

        init(subscribe: @escaping @Sendable () async throws -> QuerySubscription) { self.subscribe = subscribe }

        /// Waits for the next snapshot. Returns nil when the client is closed or the task is
        /// cancelled.
        ///
        /// - Throws: `RemoteError` if the remote refuses to watch the query. The local results are
        ///   delivered before.
        public mutating func next() async throws -> QuerySnapshot? {
            let current: QuerySubscription
            if let subscription {
                current = subscription
            } else {
                current = try await subscribe()
                subscription = current
            }
            return try await current.next()
        }
    }
}

/// Keeps a listener registered while an iterator exists.
final class QuerySubscription: Sendable {
    private let client: DocumentDatabase
    private let id: Int
    private let wakeup: AsyncSignal

    init(client: DocumentDatabase, id: Int, wakeup: AsyncSignal) {
        self.client = client
        self.id = id
        self.wakeup = wakeup
    }

    deinit {
        let (client, id) = (client, id)
        // The client outlives the subscription; removing the listener is a short task of the
        // client.
        Task { await client.unsubscribe(id) }
    }

    func next() async throws -> QuerySnapshot? {
        while !Task.isCancelled {
            switch try await client.nextSnapshot(id) {
            case .snapshot(let snapshot): return snapshot
            case .closed: return nil
            case .nothingYet: await wakeup.wait()
            }
        }
        return nil
    }
}

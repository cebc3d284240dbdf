import SystemIO

/// The snapshots of a query: the first at once, then one whenever the results, or what is known of them, changed.
///
/// A slow reader gets fewer of them, never a stale one: changes that happened between two calls arrive as one. Ending the
/// loop or cancelling its task ends the subscription.
public struct QuerySnapshots: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot

    let subscribe: @Sendable () async throws -> QuerySubscription

    public func makeAsyncIterator() -> Iterator { Iterator(subscribe: subscribe) }

    public struct Iterator: AsyncIteratorProtocol {
        let subscribe: @Sendable () async throws -> QuerySubscription
        private var subscription: QuerySubscription?

        init(subscribe: @escaping @Sendable () async throws -> QuerySubscription) { self.subscribe = subscribe }

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

/// Keeps a listener registered as long as somebody iterates.
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
        // The client outlives the subscription; taking the listener out is its own, short work.
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

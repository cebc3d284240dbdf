/// A bounded queue that serves its keys in turn, so that the elements of a busy key do not delay
/// those of others. A pure value.
struct FairQueue<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    /// The maximum number of elements of all keys. `limitPerKey` is the maximum for one key.
    let limit: Int
    let limitPerKey: Int
    private var waiting: [Key: [Element]] = [:]
    /// The keys that have elements, in the order in which they are served.
    private var turns: [Key] = []
    private(set) var count = 0

    init(limit: Int, perKey limitPerKey: Int) {
        self.limit = limit
        self.limitPerKey = limitPerKey
    }

    /// Adds an element, unless its key has too many. If the queue is full, the newest element of
    /// the busiest key is removed to make room for a less busy key.
    ///
    /// - Returns: The element that is refused: the new one, or the removed one. Nil if there is
    ///   none.
    mutating func append(_ element: Element, for key: Key) -> Element? {
        let own = waiting[key]?.count ?? 0
        guard own < limitPerKey else { return element }
        var evicted: Element?
        if count >= limit {
            guard let busiest = waiting.max(by: { $0.value.count < $1.value.count }), busiest.value.count > own + 1
            else {
                return element
            }
            evicted = waiting[busiest.key]?.popLast()
            count -= 1
        }
        if own == 0 { turns.append(key) }
        waiting[key, default: []].append(element)
        count += 1
        return evicted
    }

    mutating func next() -> Element? {
        guard !turns.isEmpty else { return nil }
        let key = turns.removeFirst()
        guard var elements = waiting[key], !elements.isEmpty else { return nil }
        let element = elements.removeFirst()
        count -= 1
        waiting[key] = elements.isEmpty ? nil : elements
        if !elements.isEmpty { turns.append(key) }
        return element
    }
}

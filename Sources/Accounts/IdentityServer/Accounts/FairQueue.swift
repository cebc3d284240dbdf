/// Elements that wait for one server, taken in turn by key, so that a key with many waits among its own. Pure.
struct FairQueue<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    /// Elements of all keys, and of one.
    let limit: Int
    let limitPerKey: Int
    private var waiting: [Key: [Element]] = [:]
    /// The keys that have elements, the next first.
    private var turns: [Key] = []
    private(set) var count = 0

    init(limit: Int, perKey limitPerKey: Int) {
        self.limit = limit
        self.limitPerKey = limitPerKey
    }

    /// Adds an element, unless the key has too many. Where the queue is full, the newest element of
    /// the busiest key gives way to a less busy one.
    ///
    /// - Returns: the element that is refused: the new one, or the one that gave way; nil: none.
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

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

    /// Returns false where the queue, or the key's part of it, is full.
    mutating func append(_ element: Element, for key: Key) -> Bool {
        guard count < limit, waiting[key]?.count ?? 0 < limitPerKey else { return false }
        if waiting[key] == nil { turns.append(key) }
        waiting[key, default: []].append(element)
        count += 1
        return true
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

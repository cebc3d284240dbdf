/// A binary heap of paths by their deadlines. An entry is not removed when its path gets another
/// deadline; its number shows whether it is still valid.
struct DeadlineQueue: Sendable {
    struct Entry: Sendable {
        var deadline: Duration
        var number: UInt64
        var path: TaskPath
    }

    private var heap: [Entry] = []

    var count: Int { heap.count }
    var first: Entry? { heap.first }

    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard isBefore(heap[child], heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> Entry? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if heap.isEmpty { return first }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if isBefore(heap[child], heap[least]) { least = child }
            }
            guard least != parent else { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    mutating func removeAll() { heap = [] }

    /// Orders equal deadlines by insertion, so that a run can be repeated exactly.
    private func isBefore(_ a: Entry, _ b: Entry) -> Bool { (a.deadline, a.number) < (b.deadline, b.number) }
}

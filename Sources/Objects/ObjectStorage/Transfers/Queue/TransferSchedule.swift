import SystemIO

/// The transfers of a queue that wait for their turn or run, and which of them starts next, as a
/// `TransferPolicy` decides. Pure: it starts and stops nothing.
///
/// Each operation takes time that grows with the logarithm of the number of transfers.
package struct TransferSchedule<ID: Hashable & Sendable>: Sendable {
    /// The place of a transfer among those that wait. Places are unique, because numbers are.
    private struct Turn: Sendable, Hashable {
        let priority: Int
        /// The size, as far as it matters for the order.
        let size: Int64
        let number: Int
        let weight: Int64

        static func < (left: Self, right: Self) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            return (left.size, left.number) < (right.size, right.number)
        }
    }

    private let policy: TransferPolicy
    private var queued: [ID: Turn] = [:]
    /// A heap with the next turn at its root. A turn that is not in `queued` is skipped.
    private var heap: [(turn: Turn, id: ID)] = []
    /// The weights of the transfers that run.
    private var running: [ID: Int64] = [:]
    private var runningBytes: Int64 = 0

    /// Creates an empty schedule.
    package init(policy: TransferPolicy) { self.policy = policy }

    /// Whether no transfer runs or waits for its turn.
    package var isEmpty: Bool { queued.isEmpty && running.isEmpty }

    /// Lets a transfer wait for its turn.
    ///
    /// - Parameters:
    ///   - size: The size of its file; nil if it is not known, which counts as large.
    ///   - number: The transfer's place in the order of age, which no other transfer has.
    package mutating func enqueue(_ id: ID, priority: Int = 0, size: Int64?, number: Int) {
        stop(id)
        let turn = Turn(
            priority: priority, size: policy.order == .smallestFirst ? size ?? .max : 0, number: number,
            weight: policy.weight(size))
        guard queued[id] != turn else { return }
        queued[id] = turn
        insert(turn, id)
    }

    /// Counts a transfer among those that run, with this size.
    package mutating func start(_ id: ID, size: Int64?) {
        remove(id)
        run(id, weight: policy.weight(size))
    }

    /// Takes a transfer out: it neither runs nor waits for its turn.
    package mutating func remove(_ id: ID) {
        queued[id] = nil
        stop(id)
    }

    /// Returns the transfer that starts now, and counts it among those that run; nil if none waits
    /// or enough run.
    package mutating func next() -> ID? {
        while let (turn, id) = heap.first {
            guard queued[id] == turn else {
                removeFirst()
                continue
            }
            guard policy.admits(weight: turn.weight, beside: running.count, bytes: runningBytes) else { return nil }
            removeFirst()
            queued[id] = nil
            run(id, weight: turn.weight)
            return id
        }
        return nil
    }

    // The sum of the weights cannot overflow: each is at most one more than the limit of the policy.

    private mutating func run(_ id: ID, weight: Int64) {
        running[id] = weight
        runningBytes += weight
    }

    private mutating func stop(_ id: ID) {
        if let weight = running.removeValue(forKey: id) { runningBytes -= weight }
    }

    // MARK: Heap

    private mutating func insert(_ turn: Turn, _ id: ID) {
        heap.append((turn, id))
        var child = heap.count - 1
        while child > 0, case let parent = (child - 1) / 2, heap[child].turn < heap[parent].turn {
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].turn < heap[least].turn {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }
}

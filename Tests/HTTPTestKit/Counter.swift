import Synchronization

package final class Counter: Sendable {
    package init() {}

    private let total = Atomic(0)

    package var value: Int { total.load(ordering: .relaxed) }

    @discardableResult
    package func add(_ count: Int) -> Int { total.add(count, ordering: .relaxed).newValue }
}

import Synchronization

final class Counter: Sendable {
    private let total = Atomic(0)

    var value: Int { total.load(ordering: .relaxed) }

    @discardableResult
    func add(_ count: Int) -> Int { total.add(count, ordering: .relaxed).newValue }
}

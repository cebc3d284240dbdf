import Synchronization

/// The limit of the memory that all transfers of a process hold together. A transfer waits here
/// until enough memory is released.
///
/// Requests are granted in the order of their arrival, so that a large one is not starved by small
/// ones.
package final class ByteBudget: Sendable {
    /// Ten chunks of the maximum length: a few transfers read one each, and the others are in
    /// flight. Compressed chunks and pooled buffers take as much again.
    static let shared = ByteBudget(40 << 20)

    /// A granted number of bytes, which are returned when this object is released.
    package final class Share: Sendable {
        private let budget: ByteBudget
        private let amount: Mutex<Int>

        fileprivate init(_ amount: Int, of budget: ByteBudget) {
            self.budget = budget
            self.amount = Mutex(amount)
        }

        deinit { budget.give(amount.withLock { $0 }) }

        /// Returns the bytes beyond `rest`.
        package func shrink(to rest: Int) {
            let surplus = amount.withLock { amount in
                let surplus = max(0, amount - rest)
                amount -= surplus
                return surplus
            }
            if surplus > 0 { budget.give(surplus) }
        }
    }

    private struct Waiter {
        var id: Int
        var amount: Int
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var free: Int
        var waiters: [Waiter] = []
        var nextID = 0
        /// The requests that were cancelled before they were enqueued.
        var cancelled: Set<Int> = []
    }

    private let total: Int
    private let state: Mutex<State>

    /// Creates a budget of `total` bytes.
    package init(_ total: Int) {
        self.total = total
        state = Mutex(State(free: total))
    }

    /// Waits for `amount` bytes, or for all bytes if there are fewer. Throws only
    /// `CancellationError`.
    func take(_ amount: Int) async throws -> Share {
        let amount = min(amount, total)
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enum Verdict { case granted, cancelled, waits }
                let verdict: Verdict = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .cancelled }
                    if state.waiters.isEmpty, state.free >= amount {
                        state.free -= amount
                        return .granted
                    }
                    state.waiters.append(Waiter(id: id, amount: amount, continuation: continuation))
                    return .waits
                }
                switch verdict {
                case .granted: continuation.resume()
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .waits: break
                }
            }
        } onCancel: {
            cancel(id)
        }
        // A cancellation that came after the grant leaves an entry.
        state.withLock { state in _ = state.cancelled.remove(id) }
        return Share(amount, of: self)
    }

    /// Takes `amount` bytes if they are free at once and no request waits; nil otherwise.
    package func takeNow(_ amount: Int) -> Share? {
        let amount = min(amount, total)
        let isGranted = state.withLock { state in
            guard state.waiters.isEmpty, state.free >= amount else { return false }
            state.free -= amount
            return true
        }
        return isGranted ? Share(amount, of: self) : nil
    }

    private func give(_ amount: Int) {
        let granted = state.withLock { state in
            state.free += amount
            return Self.grant(&state)
        }
        for waiter in granted { waiter.continuation.resume() }
    }

    private func cancel(_ id: Int) {
        let (waiter, granted) = state.withLock { state -> (Waiter?, [Waiter]) in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return (nil, [])
            }
            let waiter = state.waiters.remove(at: index)
            return (waiter, Self.grant(&state))
        }
        waiter?.continuation.resume(throwing: CancellationError())
        for waiter in granted { waiter.continuation.resume() }
    }

    private static func grant(_ state: inout State) -> [Waiter] {
        var granted: [Waiter] = []
        while let first = state.waiters.first, first.amount <= state.free {
            state.free -= first.amount
            granted.append(state.waiters.removeFirst())
        }
        return granted
    }
}

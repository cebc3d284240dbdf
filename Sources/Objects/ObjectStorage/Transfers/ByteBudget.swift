import Synchronization

/// Memory that all transfers of a process share: who wants to hold bytes waits here until enough others let go.
///
/// First come, first served, so that a large request is not starved by small ones.
package final class ByteBudget: Sendable {
    /// Ten chunks of the greatest length: some transfers read one each, and the others are under way. What is compressed beside
    /// them, and buffers between uses, take as much again.
    static let shared = ByteBudget(40 << 20)

    /// Bytes taken; they go back when this value goes away.
    package final class Share: Sendable {
        private let budget: ByteBudget
        private let amount: Mutex<Int>

        fileprivate init(_ amount: Int, of budget: ByteBudget) {
            self.budget = budget
            self.amount = Mutex(amount)
        }

        deinit { budget.give(amount.withLock { $0 }) }

        /// Gives back what is more than `rest`.
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
        /// Cancelled before they came to wait.
        var cancelled: Set<Int> = []
    }

    private let total: Int
    private let state: Mutex<State>

    package init(_ total: Int) {
        self.total = total
        state = Mutex(State(free: total))
    }

    /// Waits for `amount` bytes (or all there are, if that is less). Throws only `CancellationError`.
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
        // A cancellation that came after the grant left a mark that nobody will look for.
        state.withLock { state in _ = state.cancelled.remove(id) }
        return Share(amount, of: self)
    }

    /// Takes `amount` bytes if nobody has to wait for them.
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

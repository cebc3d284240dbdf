/// Decides which account's work a free worker takes next.
///
/// Accounts take turns, and one account never has all workers at a time, unless there is only one.
/// So work waits for at most one piece of work of each other account, however much these have asked
/// for. Work without an account, the operator's, may have all workers.
package struct TurnSchedule<Waiter> {
    /// The workers that do nothing. If there is one, no work waits that may start.
    private var idle: [Int]
    /// The maximum number of workers of one account.
    private let share: Int
    private var running: [String?: Int] = [:]
    private var waiting: [String?: [Waiter]] = [:]
    /// The accounts in `waiting`, the one whose turn is next first.
    private var turns: [String?] = []

    package init(workers: Int) {
        idle = Array((0..<workers).reversed())
        share = max(1, workers - 1)
    }

    /// Returns a worker for work that may start now; nil if it must `wait`.
    package mutating func start(for account: String?) -> Int? {
        guard mayStart(account), let worker = idle.popLast() else { return nil }
        running[account, default: 0] += 1
        return worker
    }

    /// Adds work that `start` had no worker for.
    package mutating func wait(_ waiter: Waiter, for account: String?) {
        if waiting[account] == nil { turns.append(account) }
        waiting[account, default: []].append(waiter)
    }

    /// Takes the worker of work that has ended. Returns the work that starts instead, and its worker.
    package mutating func end(_ worker: Int, for account: String?) -> (waiter: Waiter, worker: Int)? {
        let left = (running[account] ?? 1) - 1
        running[account] = left > 0 ? left : nil
        idle.append(worker)
        guard let place = turns.firstIndex(where: mayStart), let worker = idle.popLast() else { return nil }
        let next = turns.remove(at: place)
        guard var waiters = waiting.removeValue(forKey: next), !waiters.isEmpty else { return nil }
        let waiter = waiters.removeFirst()
        if !waiters.isEmpty {
            waiting[next] = waiters
            turns.append(next)
        }
        running[next, default: 0] += 1
        return (waiter, worker)
    }

    /// Takes the first work of an account that waits and satisfies `isWanted`. Returns nil if there is none, for
    /// example because it has started.
    package mutating func remove(for account: String?, where isWanted: (Waiter) -> Bool) -> Waiter? {
        guard let place = waiting[account]?.firstIndex(where: isWanted) else { return nil }
        defer {
            if waiting[account]?.isEmpty == true {
                waiting[account] = nil
                turns.removeAll { $0 == account }
            }
        }
        return waiting[account]?.remove(at: place)
    }

    private func mayStart(_ account: String?) -> Bool { account == nil || running[account] ?? 0 < share }
}

import ObjectStorage
import Synchronization

/// A budget of memory for bodies that are held as a whole: XML documents and archives. One account
/// can take only a part of it, so that it cannot starve others.
final class BodyMemory: Sendable {
    /// Memory that was taken. Releasing the share returns it.
    final class Share: Sendable {
        private let memory: BodyMemory
        private let account: String
        private let amount: Int
        /// The part of the common budget.
        private let share: ByteBudget.Share

        fileprivate init(_ memory: BodyMemory, _ account: String, _ amount: Int, _ share: ByteBudget.Share) {
            (self.memory, self.account, self.amount, self.share) = (memory, account, amount, share)
        }

        deinit { memory.give(amount, account) }
    }

    private let whole: ByteBudget
    private let limit: Int
    /// The bytes that each account has taken.
    private let taken = Mutex<[String: Int]>([:])

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes of all accounts.
    ///   - accountLimit: The maximum number of bytes of one account.
    init(_ limit: Int, accountLimit: Int) {
        whole = ByteBudget(limit)
        self.limit = accountLimit
    }

    /// Takes memory if it is free; otherwise returns nil. Does not wait, because a slow client may
    /// hold the memory.
    ///
    /// - Parameter account: The prefix of the account's keys; nil for administrators, who share one
    ///   part.
    func takeNow(_ amount: Int, _ account: String?) -> Share? {
        let account = account ?? ""
        let isGranted = taken.withLock { taken in
            let (sum, overflow) = taken[account, default: 0].addingReportingOverflow(max(0, amount))
            guard !overflow, sum <= limit else { return false }
            taken[account] = sum
            return true
        }
        guard isGranted else { return nil }
        guard let share = whole.takeNow(max(0, amount)) else {
            give(max(0, amount), account)
            return nil
        }
        return Share(self, account, max(0, amount), share)
    }

    private func give(_ amount: Int, _ account: String) {
        taken.withLock { taken in
            let rest = taken[account, default: 0] - amount
            taken[account] = rest > 0 ? rest : nil
        }
    }
}

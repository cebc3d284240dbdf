import ObjectStorage
import Synchronization

/// The memory that bodies take which have to be there as a whole: XML documents and archives. One account gets a part of it, so that it
/// cannot keep the others from theirs.
final class BodyMemory: Sendable {
    /// Bytes taken; they go back when this value goes away.
    final class Share: Sendable {
        private let memory: BodyMemory
        private let account: String
        private let amount: Int
        /// Of the whole.
        private let share: ByteBudget.Share

        fileprivate init(_ memory: BodyMemory, _ account: String, _ amount: Int, _ share: ByteBudget.Share) {
            (self.memory, self.account, self.amount, self.share) = (memory, account, amount, share)
        }

        deinit { memory.give(amount, account) }
    }

    private let whole: ByteBudget
    private let limit: Int
    /// Accounts that have taken something.
    private let taken = Mutex<[String: Int]>([:])

    /// - Parameters:
    ///   - limit: Bytes for all accounts.
    ///   - accountLimit: Bytes for one account.
    init(_ limit: Int, accountLimit: Int) {
        whole = ByteBudget(limit)
        self.limit = accountLimit
    }

    /// Takes memory if it is free; nobody waits for it, as it may be a slow client that has it.
    ///
    /// - Parameter account: The prefix of the account's keys; nil for administrators, who share one part.
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

import DocumentStore
package import IdentityProtocol
import IdentityServer
import Synchronization

/// Enforces the quotas of accounts, with one check for each request, whose cost does not depend on
/// the size of the account.
package final class AccountQuotas: Sendable {
    /// The size of a burst, in seconds of the allowed rate of requests.
    static let burstSeconds = 60.0

    private let quota: @Sendable (_ user: String) -> AccountQuota
    /// The seconds of a clock that cannot be set.
    private let now: @Sendable () -> Double
    private let requests = Mutex(TokenBuckets(burst: 1, perSecond: 1))

    package init(
        quota: @escaping @Sendable (_ user: String) -> AccountQuota,
        now: (@Sendable () -> Double)? = nil
    ) {
        self.quota = quota
        self.now = now ?? Self.monotonicSeconds
    }

    @Sendable private static func monotonicSeconds() -> Double {
        let time = ContinuousClock.now - start
        return Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
    }

    private static let start = ContinuousClock.now

    /// Counts a request. Returns false if the account makes too many.
    package func admit(_ user: String) -> Bool {
        let rate = Double(quota(user).requestsPerSecond)
        let time = now()
        return requests.withLock { $0.take(user, burst: rate * Self.burstSeconds, rate: rate, now: time) }
    }

    /// Returns the user's limit of requests per second, for the refusal.
    package func requestsPerSecond(of user: String) -> Int64 { quota(user).requestsPerSecond }

    /// Returns the maximum number of bytes of objects that a user may keep.
    package func objectBytes(of user: String) -> Int64 { quota(user).objectBytes }

    /// Refuses a commit after which a user would own more documents than allowed.
    ///
    /// - Throws: `DocumentStoreError` with `.resourceExhausted`. Clients look for the first two
    ///   words of its message.
    func check(_ commit: borrowing ProposedCommit, by user: String) throws {
        for growth in try commit.growth() {
            let limit = quota(growth.owner).documents
            guard growth.count + growth.added > limit else { continue }
            let whose = growth.owner == user ? "the account holds" : "the account that owns this holds"
            throw DocumentStoreError(
                .resourceExhausted,
                "Quota exceeded: \(whose) \(growth.count) documents, and the limit is \(limit). Delete some, or "
                    + "ask the server's administrator for more.")
        }
    }
}

extension DocumentStoreError {
    static func tooManyRequests(_ limit: Int64) -> DocumentStoreError {
        DocumentStoreError(
            .resourceExhausted, "Too many requests: the account may make \(limit) a second. Try again in a moment.")
    }
}

import Synchronization

/// Which ID tokens count no more although they have not expired: of accounts that are disabled, deleted or have a new
/// password. In memory, as every call to the server asks.
package final class Revocations: Sendable {
    private let since = Mutex<[String: Int64]>([:])

    func replace(with since: [String: Int64]) { self.since.withLock { $0 = since } }

    /// - Parameter issuedAt: seconds since 1970, as in the token.
    package func isRevoked(user: String, issuedAt: Int64) -> Bool {
        since.withLock { $0[user].map { issuedAt < $0 } ?? false }
    }
}

/// The quotas of accounts. Accounts are named by the first part of their keys.
package protocol ObjectQuotas: Sendable {
    /// Counts a request of an account. Returns false if the account makes too many.
    func admit(_ account: String) -> Bool

    /// Returns the maximum number of requests per second of an account.
    func requestsPerSecond(of account: String) -> Int64

    /// Returns the maximum number of bytes of objects that an account may keep.
    func objectBytes(of account: String) -> Int64
}

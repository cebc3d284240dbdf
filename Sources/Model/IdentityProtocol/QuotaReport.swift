package import JSON

/// The usage and the limits of an account, as `accounts:lookup` reports them to the account's owner.
package struct QuotaReport: Sendable, Hashable {
    /// The field of a user in the answer; Ferry's own, which clients of Google's ignore.
    package static let field = "ferryQuota"

    package let used: AccountUsage
    package let allowed: AccountQuota

    package init(used: AccountUsage, allowed: AccountQuota) {
        self.used = used
        self.allowed = allowed
    }

    /// Reads the value of the field. Numbers that are missing or negative count as 0.
    package init(json: JSON) {
        func number(_ name: String) -> Int64 { max(0, json[name]?.integerValue ?? 0) }
        var allowed = AccountQuota()
        allowed.objectBytes = number("objectBytesLimit")
        allowed.documents = number("documentsLimit")
        allowed.requestsPerSecond = number("requestsPerSecondLimit")
        self.init(
            used: AccountUsage(objectBytes: number("objectBytes"), documents: number("documents")), allowed: allowed)
    }

    package var json: JSON {
        [
            "objectBytes": .integer(used.objectBytes), "objectBytesLimit": .integer(allowed.objectBytes),
            "documents": .integer(used.documents), "documentsLimit": .integer(allowed.documents),
            "requestsPerSecondLimit": .integer(allowed.requestsPerSecond),
        ]
    }
}

/// The limits of one account.
package struct AccountQuota: Sendable, Hashable {
    /// Bytes of objects below the account's prefix.
    package var objectBytes: Int64 = 50 << 30
    /// Documents that the account owns.
    package var documents: Int64 = 1_000_000
    /// Requests to documents and objects together; ten seconds' worth may come at once.
    package var requestsPerSecond: Int64 = 5000

    package init() {}

    /// The limits that an administrator has set for one account. Nil leaves the server's default.
    package struct Override: Sendable, Hashable {
        package var objectBytes: Int64?
        package var documents: Int64?
        package var requestsPerSecond: Int64?

        package init(objectBytes: Int64? = nil, documents: Int64? = nil, requestsPerSecond: Int64? = nil) {
            self.objectBytes = objectBytes
            self.documents = documents
            self.requestsPerSecond = requestsPerSecond
        }
    }

    package func overridden(by override: Override) -> AccountQuota {
        var quota = self
        quota.objectBytes = override.objectBytes ?? objectBytes
        quota.documents = override.documents ?? documents
        quota.requestsPerSecond = override.requestsPerSecond ?? requestsPerSecond
        return quota
    }
}

/// The resources that one account uses.
package struct AccountUsage: Sendable, Hashable {
    package var objectBytes: Int64
    package var documents: Int64

    package init(objectBytes: Int64 = 0, documents: Int64 = 0) {
        self.objectBytes = objectBytes
        self.documents = documents
    }
}

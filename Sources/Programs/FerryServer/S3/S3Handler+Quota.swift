import HTTPMessages
import HTTPServer
import SQLite

extension S3Handler {
    /// Counts the request for the account whose keys sign it.
    func admit(_ call: S3Call) throws {
        guard let user = call.credential.prefix.flatMap(ObjectUsage.owner), !limits.admit(user) else { return }
        throw S3Error(
            "SlowDown",
            "The account may make \(limits.requestsPerSecond(of: user)) requests a second. Reduce your rate.", 503)
    }

    /// Refuses a large body for which there is no room, before it comes.
    func requireRoom(_ call: S3Call) throws {
        guard let owner = ObjectUsage.owner(of: call.key), let length = call.request.body.length.map(Int64.init) else {
            return
        }
        let limit = limits.objectBytes(of: owner)
        let used = try store.index.readHere { try $0.usage(of: owner) }
        let replaced = try size(replacedBy: call)
        let (total, overflows) = (used - replaced).addingReportingOverflow(length)
        guard overflows || total > limit, length > replaced else { return }
        throw S3Error.quotaExceeded(used: used, limit)
    }

    private func size(replacedBy call: S3Call) throws -> Int64 {
        guard !call.has("uploadId") else { return 0 }
        return try store.index.readHere { try $0.object(call.bucket, call.key)?.size ?? 0 }
    }

    /// Refuses what was stored beneath a key, inside the change that did it, where its owner now keeps more than allowed.
    ///
    /// - Parameter growth: the bytes by which the change made it more.
    func checkQuota(of key: String, growth: Int64, in database: SQLiteDatabase) throws {
        guard growth > 0, let owner = ObjectUsage.owner(of: key) else { return }
        let limit = limits.objectBytes(of: owner)
        let used = try database.usage(of: owner)
        if used > limit { throw S3Error.quotaExceeded(used: used - growth, limit) }
    }
}

extension S3Error {
    static func quotaExceeded(used: Int64, _ limit: Int64) -> S3Error {
        S3Error(
            "QuotaExceeded",
            "The account keeps \(Amount.text(bytes: max(0, used))) of the \(Amount.text(bytes: limit)) that it may. Remove some, "
                + "or ask whoever runs the server for more.", 403)
    }
}

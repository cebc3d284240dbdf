import BucketStore
import HTTPMessages
import HTTPServer
import SQLite
import SystemIO

extension S3Context {
    /// Counts the request for the account that signed it.
    func admit(_ call: S3Call) throws {
        guard let user = call.credential.prefix.flatMap(ObjectUsage.owner), !quotas.admit(user) else { return }
        throw S3Error(
            "SlowDown",
            "The account may make \(quotas.requestsPerSecond(of: user)) requests a second. Reduce your rate.", 503)
    }

    /// Refuses a large body that exceeds the quota before it is sent.
    func requireRoom(_ call: S3Call) throws {
        guard let owner = ObjectUsage.owner(of: call.key), let length = call.request.body.length.map(Int64.init) else {
            return
        }
        let limit = quotas.objectBytes(of: owner)
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

    /// Refuses a change, inside its transaction, after which the owner of a key exceeds its quota.
    ///
    /// - Parameter growth: The bytes that the change added; 0 also for an object without any.
    func checkQuota(of key: String, growth: Int64, in database: SQLiteDatabase) throws {
        guard growth >= 0, let owner = ObjectUsage.owner(of: key) else { return }
        let limit = quotas.objectBytes(of: owner)
        let used = try database.use(by: owner)
        if growth > 0, used.bytes > limit { throw S3Error.quotaExceeded(used: used.bytes - growth, limit) }
        let objects = max(1000, limit / Self.bytesPerObject)
        if used.objects > objects { throw S3Error.tooManyObjects(objects) }
    }

    /// The bytes of the quota for which an account may keep one object; at least 1,000 objects are
    /// allowed. The key and the metadata of each object take space, even if it has no bytes.
    private static let bytesPerObject: Int64 = 4 << 10
}

extension S3Error {
    static let quotaCode = "QuotaExceeded"

    fileprivate static func tooManyObjects(_ limit: Int64) -> S3Error {
        S3Error(
            quotaCode,
            "The account keeps \(limit) objects, which is all that it may. Remove some, or ask whoever runs the server for "
                + "more.", 403)
    }

    static func quotaExceeded(used: Int64, _ limit: Int64) -> S3Error {
        S3Error(
            quotaCode,
            "The account keeps \(ByteCount.text(max(0, used))) of the \(ByteCount.text(limit)) that it may. Remove some, "
                + "or ask the server's administrator for more.", 403)
    }
}

import BucketStore
import HTTPMessages
import SystemIO

/// The parts that all resources share: the store, the accounts, the clock, and the reader of
/// bodies.
struct S3Context: Sendable {
    let store: DirectoryBucketStore
    let policy: any ObjectAccessPolicy
    let quotas: any ObjectQuotas
    /// The server's clock, in microseconds since 1970.
    let now: @Sendable () -> Int64
    /// Receives the errors that clients see as `InternalError` only, and reports of lost objects.
    let onError: @Sendable (any Error) -> Void
    let bodies: RequestBodies

    init(
        store: DirectoryBucketStore, policy: any ObjectAccessPolicy, quotas: any ObjectQuotas,
        now: @escaping @Sendable () -> Int64, onError: @escaping @Sendable (any Error) -> Void
    ) {
        self.store = store
        self.policy = policy
        self.quotas = quotas
        self.now = now
        self.onError = onError
        bodies = RequestBodies(store: store)
    }

    func requireBucket(_ bucket: String) throws {
        guard try store.index.readHere({ try $0.hasBucket(bucket) }) else { throw S3Error.noSuchBucket }
    }

    /// Returns the record of an object.
    ///
    /// - Parameter hidingMarked: Whether an object marked for deletion counts as absent. A client
    ///   that asks whether an object exists intends to rely on it.
    /// - Throws: `NoSuchBucket` or `NoSuchKey`.
    func record(_ bucket: String, _ key: String, hidingMarked: Bool = false) throws -> ObjectRecord {
        let found = try store.index.readHere { database in
            var record = try database.object(bucket, key)
            if hidingMarked, try database.isMarkedForDeletion(bucket, key) { record = nil }
            return (record, try record != nil || database.hasBucket(bucket))
        }
        guard found.1 else { throw S3Error.noSuchBucket }
        guard let record = found.0 else { throw S3Error.noSuchKey }
        return record
    }

    /// Makes durable bytes the object `record.key` if the conditions and the quota hold; otherwise
    /// discards them.
    ///
    /// - Parameter upload: The id of the multipart upload that this completes.
    func commit(
        _ record: ObjectRecord, in bucket: String, _ conditions: WriteConditions, completing upload: String? = nil
    ) async throws {
        do {
            let unused = try await store.index.write { database in
                guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
                if conditions != .none {
                    let present = try database.object(bucket, record.key)
                    // An object whose bytes are lost counts as absent, so that a client can put it
                    // again.
                    try conditions.checkPut(over: present.flatMap { store.holds($0) ? $0 : nil })
                }
                let parts = try upload.map { try database.removeUpload($0) } ?? []
                let (replaced, growth) = try database.exchange(record, in: bucket)
                // The parts of an upload were counted when they arrived.
                if upload == nil { try checkQuota(of: record.key, growth: growth, in: database) }
                return parts + replaced
            }
            await store.discard(unused)
        } catch {
            await store.discard([record.file])
            throw error
        }
    }

    /// Whether the caller may read an object: an object of its own, or one that the policy allows.
    func mayRead(_ key: String, in bucket: String, _ credential: S3Credential) async throws -> Bool {
        if credential.allows(key: key) { return true }
        guard let own = credential.prefix else { return false }
        return try await policy.allowsReading(key, in: bucket, byAccountAt: own)
    }

    /// Reports an object whose bytes are lost, and returns the error for the client.
    ///
    /// The error is `NoSuchKey`, because repeating the request would not find the bytes either, and
    /// a client that has the object may put it again.
    func lost(_ bucket: String, _ key: String, _ reason: String) -> S3Error {
        onError(LostObject(bucket: bucket, key: key, reason: reason))
        return S3Error("NoSuchKey", "The object's data is lost on this server. Put the object again.", 404)
    }

    private struct LostObject: Error, CustomStringConvertible {
        let bucket: String
        let key: String
        let reason: String

        var description: String { "the data of \(bucket)/\(key) is lost: \(reason)" }
    }
}

package import BucketStore
import HTTPMessages

/// Copies the attachments of an account to another one, so that a machine that brings its tasks along
/// need not send them again.
///
/// Both accounts must be the caller's, which this type does not check. Keys below an account name
/// contents by their hash, and manifests name no account, so copies need no change.
package struct AccountCopy: Sendable {
    private let context: S3Context
    private let bucket: String

    /// The maximum number of objects of a page.
    private static let objectLimit = 500
    /// The number of copied bytes after which a page ends.
    private static let byteLimit: Int64 = 64 << 20

    /// - Parameters:
    ///   - bucket: The bucket of the attachments.
    ///   - limit: The bytes of objects that the target may keep.
    ///   - now: The server's clock, in microseconds since 1970.
    package init(
        store: DirectoryBucketStore, bucket: String, limit: Int64, now: @escaping @Sendable () -> Int64
    ) {
        // Lost objects are reported when clients read them.
        context = S3Context(
            store: store, policy: OwnObjects(), quotas: ByteQuota(limit: limit), now: now, onError: { _ in })
        self.bucket = bucket
    }

    /// Copies a page of the objects of `source` whose keys come after `after`, except for those that
    /// `target` has.
    ///
    /// - Returns: The key after which the next page begins; nil if there is none, or if the
    ///   target's quota is reached.
    package func copyPage(from source: String, to target: String, after: String) async throws -> String? {
        let listing = try await context.store.index.list(for: target) { [bucket] in
            try $0.list(bucket, prefix: "\(source)/", delimiter: nil, after: after, limit: Self.objectLimit)
        }
        var copied: Int64 = 0
        for case .object(let record) in listing.entries {
            try Task.checkCancellation()
            let name = record.key.dropFirst(source.count)
            guard name.hasPrefix("/chunks/") || name.hasPrefix("/manifests/") else { continue }
            do {
                if try await copy(record, to: target + name) { copied += record.size }
            } catch let error as S3Error where error.code == S3Error.noSuchKey.code {
                continue
            } catch let error as S3Error where error.code == S3Error.quotaCode { return nil }
            if copied >= Self.byteLimit { return record.key }
        }
        return listing.next
    }

    /// Copies an object, and returns false if it is there already or its bytes are lost.
    private func copy(_ source: ObjectRecord, to key: String) async throws -> Bool {
        let isThere = try context.store.index.readHere { [bucket] database in
            guard let present = try database.object(bucket, key) else { return false }
            return try context.store.holds(present) && !database.isMarkedForDeletion(bucket, key)
        }
        guard !isThere else { return false }
        let copier = ObjectCopier(context: context)
        guard let copy = try await copier.copy(source, in: bucket, nil, span: 0..<source.size) else { return false }
        var record = source
        (record.key, record.file, record.modified) = (key, copy.file, context.now())
        try await context.commit(record, in: bucket, .none)
        return true
    }
}

private struct OwnObjects: ObjectAccessPolicy {
    func allowsReading(_ key: String, in bucket: String, byAccountAt prefix: String) -> Bool { false }
    func allowsBucket(named name: String) -> Bool { false }
}

/// A quota of bytes alone.
private struct ByteQuota: ObjectQuotas {
    let limit: Int64

    func admit(_ account: String) -> Bool { true }
    func requestsPerSecond(of account: String) -> Int64 { .max }
    func objectBytes(of account: String) -> Int64 { limit }
}

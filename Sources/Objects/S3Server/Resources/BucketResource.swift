import BucketStore
import HTTPMessages
import XML

/// The operations on buckets: list, create, and remove.
struct BucketResource: Sendable {
    let context: S3Context

    func list(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let prefix = call.parameter("prefix") ?? ""
        let limit = try call.integer("max-buckets", in: 1...10_000, otherwise: 10_000)
        let token = call.parameter("continuation-token") ?? ""
        // Every bucket is in the only region.
        let region = call.parameter("bucket-region") ?? S3Protocol.region
        let buckets = try await context.store.index.read { try $0.buckets(after: token) }.filter {
            region == S3Protocol.region && $0.name.utf8.starts(with: prefix.utf8)
        }
        let page = buckets.prefix(limit)
        var children = [
            S3Owner.element(),
            XMLElement(
                "Buckets",
                page.map { name, created in
                    XMLElement(
                        "Bucket",
                        [XMLElement("Name", name), XMLElement("CreationDate", microseconds: created)])
                }),
        ]
        if !prefix.isEmpty { children.append(XMLElement("Prefix", prefix)) }
        if page.count < buckets.count, let last = page.last {
            children.append(XMLElement("ContinuationToken", last.name))
        }
        return .xml(XMLElement("ListAllMyBucketsResult", children))
    }

    func create(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        guard context.policy.allowsBucket(named: call.bucket) else {
            throw S3Error("InvalidBucketName", "The name is that of a path of the accounts.", 400)
        }
        // Every region name is accepted, because there is one region. Creating an existing bucket
        // succeeds only for us-east-1, which requests express by naming no region.
        let body = try await context.bodies.collect(call, limit: 64 << 10)
        let isNew = try await context.store.createBucket(call.bucket, now: context.now())
        guard isNew || (try? XMLElement(parsing: body))?["LocationConstraint"] == nil else {
            throw S3Error("BucketAlreadyOwnedByYou", "The bucket is there already, and yours.", 409)
        }
        return HTTPResponse(headers: ["Location": "/\(call.bucket)"])
    }

    func head(_ call: S3Call) throws -> HTTPResponse {
        try context.requireBucket(call.bucket)
        return HTTPResponse(headers: ["x-amz-bucket-region": S3Protocol.region])
    }

    func location(_ call: S3Call) throws -> HTTPResponse {
        try context.requireBucket(call.bucket)
        // us-east-1 is expressed by an empty element.
        return .xml(XMLElement("LocationConstraint", ""))
    }

    func delete(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let bucket = call.bucket
        let unused = try await context.store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            guard try !database.hasObjects(in: bucket) else {
                throw S3Error("BucketNotEmpty", "The bucket you tried to delete is not empty", 409)
            }
            // Unfinished uploads are not objects, and are removed with the bucket, as on S3.
            return try database.removeBucket(bucket)
        }
        await context.store.discard(unused)
        return HTTPResponse(.noContent)
    }
}

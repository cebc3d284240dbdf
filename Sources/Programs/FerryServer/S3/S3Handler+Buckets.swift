import HTTP
import SQLite

extension S3Handler {
    func listBuckets(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let buckets = try await store.index.read { database in
            var buckets: [XMLElement] = []
            try database.query("SELECT name, created FROM bucket ORDER BY name") { row in
                buckets.append(
                    XMLElement(
                        "Bucket",
                        [
                            XMLElement("Name", row.text(0)),
                            XMLElement("CreationDate", S3Date.xml(microseconds: row.int64(1))),
                        ]))
            }
            return buckets
        }
        let owner = XMLElement("Owner", [XMLElement("ID", "ferry"), XMLElement("DisplayName", "ferry")])
        return .xml(XMLElement("ListAllMyBucketsResult", [owner, XMLElement("Buckets", buckets)]))
    }

    func createBucket(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        // Every region is this server. Only in us-east-1, which nobody names, is a bucket made again without a word.
        let body = try await collect(call, limit: 64 << 10)
        let isNew = try await store.createBucket(call.bucket, now: now())
        guard isNew || XMLTree(parsing: body)?["LocationConstraint"] == nil else {
            throw S3Error("BucketAlreadyOwnedByYou", "The bucket is there already, and yours.", 409)
        }
        return HTTPResponse(headers: ["Location": "/\(call.bucket)"])
    }

    func headBucket(_ call: S3Call) async throws -> HTTPResponse {
        try requireBucket(call.bucket)
        return HTTPResponse(headers: ["x-amz-bucket-region": "us-east-1"])
    }

    func location(_ call: S3Call) async throws -> HTTPResponse {
        try requireBucket(call.bucket)
        // us-east-1 is written as nothing.
        return .xml(XMLElement("LocationConstraint", ""))
    }

    func deleteBucket(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let bucket = call.bucket
        _ = try await store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            let isUsed = try database.first(
                "SELECT 1 FROM object WHERE bucket = ?1 UNION ALL SELECT 1 FROM upload WHERE bucket = ?1 LIMIT 1",
                [.text(bucket)]
            ) { _ in true }
            guard isUsed == nil else {
                throw S3Error("BucketNotEmpty", "The bucket you tried to delete is not empty", 409)
            }
            try database.execute("DELETE FROM bucket WHERE name = ?", [.text(bucket)])
            return []
        }
        return HTTPResponse(.noContent)
    }

    func requireBucket(_ bucket: String) throws {
        guard try store.index.readHere({ try $0.hasBucket(bucket) }) else { throw S3Error.noSuchBucket }
    }
}

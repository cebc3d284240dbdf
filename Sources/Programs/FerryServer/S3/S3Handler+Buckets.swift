import HTTPMessages
import SQLite

extension S3Handler {
    func listBuckets(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let prefix = call.parameter("prefix") ?? ""
        let limit = try call.integer("max-buckets", in: 1...10_000, otherwise: 10_000)
        let token = call.parameter("continuation-token") ?? ""
        // Every bucket is in the one region that there is.
        let region = call.parameter("bucket-region") ?? ServerEndpoints.region
        let buckets = try await store.index.read { database in
            var buckets: [(name: String, created: Int64)] = []
            try database.query(
                "SELECT name, created FROM bucket WHERE name > ? ORDER BY name", [.text(token)]
            ) { row in
                if region == ServerEndpoints.region, row.text(0).utf8.starts(with: prefix.utf8) {
                    buckets.append((row.text(0), row.int64(1)))
                }
            }
            return buckets
        }
        let page = buckets.prefix(limit)
        var children = [
            Self.owner,
            XMLElement(
                "Buckets",
                page.map { name, created in
                    XMLElement(
                        "Bucket",
                        [XMLElement("Name", name), XMLElement("CreationDate", S3Date.xml(microseconds: created))])
                }),
        ]
        if !prefix.isEmpty { children.append(XMLElement("Prefix", prefix)) }
        if page.count < buckets.count, let last = page.last {
            children.append(XMLElement("ContinuationToken", last.name))
        }
        return .xml(XMLElement("ListAllMyBucketsResult", children))
    }

    func createBucket(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        guard !GooglePaths.contain("/\(call.bucket)") else {
            throw S3Error("InvalidBucketName", "The name is that of a path of the accounts.", 400)
        }
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
        let unused = try await store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            let isUsed = try database.first("SELECT 1 FROM object WHERE bucket = ? LIMIT 1", [.text(bucket)]) { _ in
                true
            }
            guard isUsed == nil else {
                throw S3Error("BucketNotEmpty", "The bucket you tried to delete is not empty", 409)
            }
            // Unfinished uploads are no objects, and go with the bucket, as on S3.
            var files: [String] = []
            let uploads = "FROM part WHERE upload IN (SELECT id FROM upload WHERE bucket = ?)"
            try database.query("SELECT file \(uploads)", [.text(bucket)]) { files.append($0.text(0)) }
            try database.execute("DELETE \(uploads)", [.text(bucket)])
            try database.execute("DELETE FROM upload WHERE bucket = ?", [.text(bucket)])
            try database.execute("DELETE FROM bucket WHERE name = ?", [.text(bucket)])
            return files
        }
        await store.discard(unused)
        return HTTPResponse(.noContent)
    }

    func requireBucket(_ bucket: String) throws {
        guard try store.index.readHere({ try $0.hasBucket(bucket) }) else { throw S3Error.noSuchBucket }
    }
}

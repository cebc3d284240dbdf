import BucketStore
import HTTPMessages
import HTTPServer
import XML

/// The cross-origin rules of buckets, and the answers to browsers that ask for them.
struct CORSResource: Sendable {
    let context: S3Context

    // MARK: Setting

    func put(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let tree = try await context.bodies.document(call, named: "CORSConfiguration", limit: CORSRules.documentLimit)
        let text = String(decoding: try CORSRules(tree).xml.document(namespace: S3Protocol.namespace), as: UTF8.self)
        let bucket = call.bucket
        _ = try await context.store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            try database.setCrossOriginRules(text, of: bucket)
            return []
        }
        return HTTPResponse()
    }

    func delete(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let bucket = call.bucket
        _ = try await context.store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            try database.setCrossOriginRules(nil, of: bucket)
            return []
        }
        return HTTPResponse(.noContent)
    }

    /// Returns the rules of a bucket; nil if it has none.
    func rules(of bucket: String) throws -> CORSRules? {
        let text = try context.store.index.readHere { try $0.crossOriginRules(of: bucket) }
        return try text.map { try CORSRules(RequestBodies.document(Array($0.utf8), named: "CORSConfiguration")) }
    }

    // MARK: Requests

    /// Returns the response to a preflight, the unsigned request by which a browser asks for permission.
    func preflight(_ request: HTTPServerRequest, bucket: String) throws -> HTTPResponse {
        guard let origin = request.headers["Origin"] else {
            throw S3Error("BadRequest", "Insufficient information. Origin request header needed.", 400)
        }
        guard let method = request.headers["Access-Control-Request-Method"] else {
            throw S3Error("BadRequest", "Invalid Access-Control-Request-Method: null", 400)
        }
        let names = request.headers.values("Access-Control-Request-Headers").flatMap { $0.split(separator: ",") }
            .map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
        guard let (rule, isForAll) = try rules(of: bucket)?.rule(origin: origin, method: method, headers: names)
        else {
            throw S3Error(
                "AccessForbidden",
                "No CORS rule of the bucket lets this page do that: look at the origin, the method and the header fields that it asks for.",
                403)
        }
        var headers = Self.headers(rule, isForAll, origin)
        if !names.isEmpty { headers["Access-Control-Allow-Headers"] = names.joined(separator: ", ") }
        if let maxAge = rule.maxAge { headers["Access-Control-Max-Age"] = String(maxAge) }
        return HTTPResponse(headers: headers)
    }

    /// Returns the fields that let the page of a request read the answer; empty if it may not.
    func headers(for request: HTTPServerRequest, bucket: String) -> HTTPHeaders {
        guard request.method != .options, let origin = request.headers["Origin"],
            !bucket.isEmpty, let rules = try? self.rules(of: bucket),
            let (rule, isForAll) = rules.rule(origin: origin, method: request.method.rawValue)
        else { return [:] }
        return Self.headers(rule, isForAll, origin)
    }

    private static func headers(_ rule: CORSRules.Rule, _ isForAll: Bool, _ origin: String) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Access-Control-Allow-Origin": isForAll ? "*" : origin,
            "Access-Control-Allow-Methods": rule.methods.joined(separator: ", "),
            "Vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
        ]
        if !isForAll { headers["Access-Control-Allow-Credentials"] = "true" }
        if !rule.exposed.isEmpty { headers["Access-Control-Expose-Headers"] = rule.exposed.joined(separator: ", ") }
        return headers
    }
}

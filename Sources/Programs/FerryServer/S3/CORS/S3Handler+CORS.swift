import HTTPMessages
import HTTPServer
import SQLite

/// Use of a bucket by pages of other sites, for which browsers want the server's word.
extension S3Handler {
    // MARK: Setting

    func putCORS(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        guard let tree = XMLTree(parsing: try await collect(call, limit: CORSRules.documentLimit)) else {
            throw S3Error.malformedXML
        }
        let text = String(decoding: try CORSRules(tree).xml.document(), as: UTF8.self)
        let bucket = call.bucket
        _ = try await store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            try database.execute("INSERT OR REPLACE INTO cors VALUES (?, ?)", [.text(bucket), .text(text)])
            return []
        }
        return HTTPResponse()
    }

    func deleteCORS(_ call: S3Call) async throws -> HTTPResponse {
        try call.requireAdministrator()
        let bucket = call.bucket
        _ = try await store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            try database.execute("DELETE FROM cors WHERE bucket = ?", [.text(bucket)])
            return []
        }
        return HTTPResponse(.noContent)
    }

    /// nil where none were made.
    func corsRules(of bucket: String) throws -> CORSRules? {
        let text = try store.index.readHere { database in
            try database.first("SELECT rules FROM cors WHERE bucket = ?", [.text(bucket)]) { $0.text(0) }
        }
        return try text.flatMap { XMLTree(parsing: Array($0.utf8)) }.map { tree throws(S3Error) in try CORSRules(tree) }
    }

    // MARK: Requests

    /// The answer to a browser that asks, before the request itself, whether that is allowed. It is signed by nobody.
    func preflight(_ request: HTTPServerRequest, bucket: String) throws -> HTTPResponse {
        guard let origin = request.headers["Origin"] else {
            throw S3Error("BadRequest", "Insufficient information. Origin request header needed.", 400)
        }
        guard let method = request.headers["Access-Control-Request-Method"] else {
            throw S3Error("BadRequest", "Invalid Access-Control-Request-Method: null", 400)
        }
        let names = request.headers.values("Access-Control-Request-Headers").flatMap { $0.split(separator: ",") }
            .map { $0.trimmed.lowercased() }.filter { !$0.isEmpty }
        guard let (rule, isForAll) = try corsRules(of: bucket)?.rule(origin: origin, method: method, headers: names)
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

    /// What lets the page that a request came from see the answer; nothing where it may not.
    func corsHeaders(_ request: HTTPServerRequest) -> HTTPHeaders {
        guard request.method != .options, let origin = request.headers["Origin"],
            case let bucket = Self.place(request).bucket, !bucket.isEmpty, let rules = try? corsRules(of: bucket),
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

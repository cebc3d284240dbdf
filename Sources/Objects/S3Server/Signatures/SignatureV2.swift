import Cryptography
import HTTPMessages
import HTTPServer

/// Signature Version 2 of presigned URLs and forms, which boto3 still uses by default in us-east-1
/// ("Signing and authenticating REST requests", "Query string request authentication alternative",
/// Amazon S3 API Reference).
///
/// The signature is an HMAC with SHA-1 over the method, the path, the expiration, the `x-amz-`
/// headers and the query parameters that Amazon lists. A URL with any other parameter is refused,
/// because its holder could have added it. Requests signed in the `Authorization` header use
/// Version 4.
struct SignatureV2: Sendable {
    let accessKey: String
    let sessionToken: String?
    let signature: String
    /// The end of the signature's validity, in seconds since 1970.
    let expires: Int64
    /// The text that was signed.
    let text: String

    /// Whether a request uses a URL that was presigned with this version.
    static func isPresigned(_ request: HTTPServerRequest) -> Bool {
        request.headers["Authorization"] == nil && request.target[query: "AWSAccessKeyId"] != nil
    }

    init(presigned request: HTTPServerRequest) throws(S3Error) {
        let target = request.target
        guard let accessKey = target[query: "AWSAccessKeyId"], let signature = target[query: "Signature"],
            let expires = target[query: "Expires"], let time = Int64(expires)
        else {
            throw S3Error(
                "AccessDenied",
                "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters", 403)
        }
        var resources: [(name: String, text: String)] = []
        for item in target.query {
            // The signed text has one line for each parameter, so a line break could forge another
            // one.
            guard item.name.utf8.allSatisfy(Self.isPrintable), (item.value ?? "").utf8.allSatisfy(Self.isPrintable)
            else { throw S3Error.invalidArgument("A query parameter has a control character.") }
            if Self.resources.contains(item.name) {
                resources.append((item.name, item.value.map { "\(item.name)=\($0)" } ?? item.name))
            } else if !Self.parameters.contains(item.name), !RequestHeaderRules.isAmazons(item.name) {
                throw S3Error(
                    "AccessDenied", "The query parameter \(item.name) is not signed. Presign with Signature Version 4.",
                    403)
            }
        }
        let headers = request.withHeadersOfQuery().headers
        var lines = [
            request.method.rawValue, headers["Content-MD5"] ?? target[query: "content-md5"] ?? "",
            headers["Content-Type"] ?? target[query: "content-type"] ?? "", expires,
        ]
        let amazons = Set(headers.map { $0.name.lowercased() }.filter(RequestHeaderRules.isAmazons))
        for name in amazons.sorted() {
            lines.append("\(name):\(headers.values(name).map(\.trimmed).joined(separator: ","))")
        }
        resources.sort { $0.name < $1.name }
        let query = resources.isEmpty ? "" : "?\(resources.map(\.text).joined(separator: "&"))"
        lines.append("\(target.rawPath)\(query)")
        (self.accessKey, self.signature, self.expires) = (accessKey, signature, time)
        sessionToken = headers["x-amz-security-token"]
        text = lines.joined(separator: "\n")
    }

    /// Reads the signature of a form; nil if it has none of this version.
    ///
    /// - Parameter fields: The fields by lower-case name.
    init?(form fields: [String: String], policy: String, expires: Int64) {
        guard fields["x-amz-algorithm"] == nil, let accessKey = fields["awsaccesskeyid"],
            let signature = fields["signature"]
        else { return nil }
        (self.accessKey, self.signature, self.expires, text) = (accessKey, signature, expires, policy)
        sessionToken = fields["x-amz-security-token"]
    }

    /// Whether the signature is that of the text with the secret.
    func isValid(_ secret: String) -> Bool {
        guard let code = Base64.decode(signature) else { return false }
        return ConstantTime.areEqual(code, HMACSHA1.authenticate(text, key: secret))
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F }

    /// The unsigned parameters that are allowed: those that authenticate, stand for headers, or
    /// name the operation for logs.
    private static let parameters: Set<String> = [
        "AWSAccessKeyId", "Expires", "Signature", "content-md5", "content-type", "x-id",
    ]

    /// The parameters that are signed.
    private static let resources: Set<String> = [
        "accelerate", "acl", "analytics", "cors", "defaultObjectAcl", "delete", "inventory", "lifecycle", "location",
        "logging", "metrics", "notification", "object-lock", "partNumber", "policy", "replication", "requestPayment",
        "response-cache-control", "response-content-disposition", "response-content-encoding",
        "response-content-language", "response-content-type", "response-expires", "restore", "select", "select-type",
        "storageClass", "tagging", "torrent", "uploadId", "uploads", "versionId", "versioning", "versions", "website",
    ]
}

extension HTTPServerRequest {
    /// Returns the request with the `x-amz-` parameters of its query added as header fields,
    /// because SDKs put header fields into presigned URLs that way. A field of the header takes
    /// precedence.
    func withHeadersOfQuery() -> HTTPServerRequest {
        let items = target.query.filter {
            RequestHeaderRules.isAmazons($0.name) && !Self.signatureParameters.contains($0.name.lowercased())
        }
        guard !items.isEmpty else { return self }
        var headers = headers
        for item in items where self.headers[item.name] == nil { headers.add(item.name, item.value ?? "") }
        return HTTPServerRequest(method, target, headers: headers, body: body, peer: peer, isSecure: isSecure)
    }

    /// The parameters of Signature Version 4.
    private static let signatureParameters: Set<String> = [
        "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders", "x-amz-signature",
    ]
}

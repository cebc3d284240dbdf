import Cryptography
import HTTP

/// Signature Version 4, in the `Authorization` field or in the query of a URL ("Authenticating Requests (AWS Signature
/// Version 4)", Amazon S3 API Reference). Pure.
///
/// The content is always signed with its own SHA-256, never as `UNSIGNED-PAYLOAD`, though that would save a pass over
/// it where TLS guards the way: a store that checks it refuses what was damaged between here and its disk, while the
/// machine that has the bytes can still send them again.
struct S3Signature {
    let credentials: S3Credentials
    let region: String
    var service = "s3"
    /// Seconds since 1970, by the store's clock.
    let time: Int64

    /// The header fields to send: `headers`, those that every signed request has, and the signature over all of them.
    ///
    /// - Parameters:
    ///   - path: percent-encoded, as it is sent.
    ///   - query: name and value, not encoded.
    func sign(
        method: HTTPMethod, host: String, path: String, query: [(String, String)], headers: HTTPHeaders,
        payload: SHA256Digest
    ) -> HTTPHeaders {
        var headers = headers
        headers["host"] = host
        headers["x-amz-content-sha256"] = payload.hex
        headers["x-amz-date"] = S3Time.amazon(time)
        headers["x-amz-security-token"] = credentials.sessionToken
        let (names, signature) = signature(method, path, query, headers, payload: payload.hex)
        headers["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(credential), SignedHeaders=\(names), Signature=\(signature)"
        headers["host"] = nil
        return headers
    }

    /// The query of a URL that stands for the request by itself: whoever has it can send it, without keys, until it
    /// expires. Its content is not signed.
    ///
    /// - Parameter expires: seconds from `time` on, 1 to 604,800.
    func presign(method: HTTPMethod, host: String, path: String, expires: Int) -> String {
        var query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", credential),
            ("X-Amz-Date", S3Time.amazon(time)), ("X-Amz-Expires", "\(expires)"), ("X-Amz-SignedHeaders", "host"),
        ]
        if let token = credentials.sessionToken { query.append(("X-Amz-Security-Token", token)) }
        let (_, signature) = signature(method, path, query, ["host": host], payload: "UNSIGNED-PAYLOAD")
        return Self.canonical(query) + "&X-Amz-Signature=\(signature)"
    }

    private func signature(
        _ method: HTTPMethod, _ path: String, _ query: [(String, String)], _ headers: HTTPHeaders, payload: String
    ) -> (names: String, signature: String) {
        let names = headers.map { $0.name.lowercased() }.sorted()
        let joined = names.joined(separator: ";")
        let canonical = [
            method.rawValue, path, Self.canonical(query),
            names.map { "\($0):\(Self.trimmed(headers[$0] ?? ""))\n" }.joined(), joined, payload,
        ].joined(separator: "\n")
        let text = "AWS4-HMAC-SHA256\n\(S3Time.amazon(time))\n\(scope)\n\(SHA256.hash(canonical).hex)"
        return (joined, HMACSHA256.authenticate(text, key: key).hex)
    }

    private var scope: String { "\(S3Time.amazon(time).prefix(8))/\(region)/\(service)/aws4_request" }

    private var credential: String { "\(credentials.accessKey)/\(scope)" }

    /// The query as it is signed and sent.
    static func canonical(_ query: [(String, String)]) -> String {
        query.map { (PercentEncoding.encode($0), PercentEncoding.encode($1)) }
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    private var key: [UInt8] {
        scope.split(separator: "/", omittingEmptySubsequences: false)
            .reduce(Array("AWS4\(credentials.secretKey)".utf8)) { key, part in
                HMACSHA256.authenticate(String(part), key: key).bytes
            }
    }

    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}

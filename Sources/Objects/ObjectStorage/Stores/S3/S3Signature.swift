import Cryptography
import HTTP

/// Signature Version 4 in the `Authorization` field ("Authenticating Requests (AWS Signature Version 4)", Amazon S3 API
/// Reference). Pure.
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
        let date = S3Time.amazon(time)
        headers["host"] = host
        headers["x-amz-content-sha256"] = payload.hex
        headers["x-amz-date"] = date
        headers["x-amz-security-token"] = credentials.sessionToken
        let names = headers.map { $0.name.lowercased() }.sorted()
        let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        let canonical = [
            method.rawValue, path, Self.canonical(query),
            names.map { "\($0):\(Self.trimmed(headers[$0] ?? ""))\n" }.joined(), names.joined(separator: ";"),
            payload.hex,
        ].joined(separator: "\n")
        let text = "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(SHA256.hash(canonical).hex)"
        let signature = HMACSHA256.authenticate(text, key: key(scope)).hex
        headers["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names.joined(separator: ";")), "
            + "Signature=\(signature)"
        headers["host"] = nil
        return headers
    }

    /// The query as it is signed and sent.
    static func canonical(_ query: [(String, String)]) -> String {
        query.map { (PercentEncoding.encode($0), PercentEncoding.encode($1)) }
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    private func key(_ scope: String) -> [UInt8] {
        scope.split(separator: "/", omittingEmptySubsequences: false)
            .reduce(Array("AWS4\(credentials.secretKey)".utf8)) { key, part in
                HMACSHA256.authenticate(String(part), key: key).bytes
            }
    }

    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }
}

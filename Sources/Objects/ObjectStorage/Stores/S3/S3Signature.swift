import CivilTime
import Cryptography
import HTTPMessages

/// Computes Signature Version 4, for the `Authorization` field or the query of a URL
/// ("Authenticating Requests (AWS Signature Version 4)", Amazon S3 API Reference). Pure.
struct S3Signature: Sendable {
    /// The part of the content in the signature.
    enum Payload: Sendable {
        case signed(SHA256Digest)
        case unsigned

        fileprivate var text: String {
            switch self {
            case .signed(let hash): hash.hex
            case .unsigned: "UNSIGNED-PAYLOAD"
            }
        }
    }

    private let credentials: S3Credentials
    /// The time of the signature by the clock of the store, in the form that requests contain.
    private let date: String
    /// The day, the region and the service for which `key` is valid.
    private let scope: String
    private let key: [UInt8]

    /// Creates a signature.
    ///
    /// - Parameters:
    ///   - time: The time in seconds since 1970, by the clock of the store.
    ///   - earlier: A previous signature, whose signing key is reused if it has the same
    ///     credentials and scope.
    init(
        credentials: S3Credentials, region: String, service: String = "s3", time: Int64, earlier: S3Signature? = nil
    ) {
        self.credentials = credentials
        date = UTCTime(seconds: time).basic
        scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        if let earlier, earlier.scope == scope, earlier.credentials.secretKey == credentials.secretKey {
            key = earlier.key
        } else {
            key = AWSSigningKey.derive(secret: credentials.secretKey, scope: scope)
        }
    }

    /// Returns the header fields of a signed request: `headers`, the fields that every signed
    /// request has, and the signature.
    ///
    /// - Parameters:
    ///   - path: The path in the form in which it is sent, percent-encoded.
    ///   - query: The names and values, not encoded.
    func sign(
        method: HTTPMethod, host: String, path: String, query: [(String, String)], headers: HTTPHeaders,
        payload: Payload
    ) -> HTTPHeaders {
        var headers = headers
        let payload = payload.text
        headers["host"] = host
        headers["x-amz-content-sha256"] = payload
        headers["x-amz-date"] = date
        headers["x-amz-security-token"] = credentials.sessionToken
        let (names, signature) = signature(method, path, query, headers, payload: payload)
        headers["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(credential), SignedHeaders=\(names), Signature=\(signature)"
        headers["host"] = nil
        return headers
    }

    /// Returns the query of a presigned URL, with which the request can be sent without credentials
    /// until it expires. The signature does not cover the content.
    ///
    /// - Parameter expires: For how many seconds the URL is valid, 1 to 604,800.
    func presign(method: HTTPMethod, host: String, path: String, expires: Int) -> String {
        var query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", credential),
            ("X-Amz-Date", date), ("X-Amz-Expires", "\(expires)"), ("X-Amz-SignedHeaders", "host"),
        ]
        if let token = credentials.sessionToken { query.append(("X-Amz-Security-Token", token)) }
        let (_, signature) = signature(method, path, query, ["host": host], payload: Payload.unsigned.text)
        return Self.canonical(query) + "&X-Amz-Signature=\(signature)"
    }

    private func signature(
        _ method: HTTPMethod, _ path: String, _ query: [(String, String)], _ headers: HTTPHeaders, payload: String
    ) -> (names: String, signature: String) {
        let fields = headers.map { (name: $0.name.lowercased(), value: Self.trimmed($0.value)) }
            .sorted { $0.name < $1.name }
        let names = fields.map(\.name).joined(separator: ";")
        let canonical = [
            method.rawValue, path, Self.canonical(query), fields.map { "\($0.name):\($0.value)\n" }.joined(), names,
            payload,
        ].joined(separator: "\n")
        let text = "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(SHA256.hash(canonical).hex)"
        return (names, HMACSHA256.authenticate(text, key: key).hex)
    }

    private var credential: String { "\(credentials.accessKey)/\(scope)" }

    /// Returns the query in the form in which it is signed and sent.
    static func canonical(_ query: [(String, String)]) -> String {
        query.map { (PercentEncoding.encode($0), PercentEncoding.encode($1)) }
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    /// Removes spaces at both ends and replaces each run of spaces by one.
    private static func trimmed(_ value: String) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard value.utf8.contains(where: isSpace) else { return value }
        return value.utf8.split(whereSeparator: isSpace).map { String(Substring($0)) }.joined(separator: " ")
    }
}

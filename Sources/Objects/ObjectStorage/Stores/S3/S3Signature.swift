import Cryptography
import HTTPMessages

/// Signature Version 4, in the `Authorization` field or in the query of a URL ("Authenticating Requests (AWS Signature
/// Version 4)", Amazon S3 API Reference). Pure.
///
struct S3Signature: Sendable {
    /// What a signature says of the content.
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
    /// When it was made, by the store's clock, as requests say it.
    private let date: String
    /// The day, the region and the service that `key` is good for.
    private let scope: String
    private let key: [UInt8]

    /// - Parameters:
    ///   - time: seconds since 1970, by the store's clock.
    ///   - earlier: one made before: where it is of the same credentials and scope, its key is this one's.
    init(
        credentials: S3Credentials, region: String, service: String = "s3", time: Int64, earlier: S3Signature? = nil
    ) {
        self.credentials = credentials
        date = S3Time.amazon(time)
        scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        if let earlier, earlier.scope == scope, earlier.credentials.secretKey == credentials.secretKey {
            key = earlier.key
        } else {
            key = AWSSigningKey.derive(secret: credentials.secretKey, scope: scope)
        }
    }

    /// The header fields to send: `headers`, those that every signed request has, and the signature over all of them.
    ///
    /// - Parameters:
    ///   - path: percent-encoded, as it is sent.
    ///   - query: name and value, not encoded.
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

    /// The query of a URL that stands for the request by itself: whoever has it can send it, without keys, until it
    /// expires. Its content is not signed.
    ///
    /// - Parameter expires: seconds from `time` on, 1 to 604,800.
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

    /// The query as it is signed and sent.
    static func canonical(_ query: [(String, String)]) -> String {
        query.map { (PercentEncoding.encode($0), PercentEncoding.encode($1)) }
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    /// Without spaces at its ends, and one for each run of them.
    private static func trimmed(_ value: String) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard value.utf8.contains(where: isSpace) else { return value }
        return value.utf8.split(whereSeparator: isSpace).map { String(Substring($0)) }.joined(separator: " ")
    }
}

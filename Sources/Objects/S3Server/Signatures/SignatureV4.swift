import CivilTime
import Cryptography
import HTTPMessages
import HTTPServer

/// The verification of Signature Version 4, in the header or in a presigned URL ("Authenticating
/// Requests (AWS Signature Version 4)", Amazon S3 API Reference).
struct SignatureV4: Sendable {
    let credentials: any S3CredentialSource
    /// The server's clock in seconds since 1970. Signatures are valid within 15 minutes of it.
    let now: @Sendable () -> Int64
    private let keys = SigningKeys()

    init(_ credentials: any S3CredentialSource, now: @escaping @Sendable () -> Int64) {
        self.credentials = credentials
        self.now = now
    }

    /// Verifies a request, and returns its credential and the form of its body.
    ///
    /// - Throws: `S3Error` with Amazon's codes.
    func authenticate(_ request: HTTPServerRequest) async throws -> AuthenticatedRequest {
        if SignatureV2.isPresigned(request) {
            let claim = try SignatureV2(presigned: request)
            return AuthenticatedRequest(
                credential: try await authenticate(claim), payload: try Self.payload(ofVersion2: request))
        }
        let claim = try SignatureClaim(request)
        try checkTime(of: claim)
        let (credential, key) = try await signer(
            claim.accessKey, claim.sessionToken, scope: claim.scope, signature: claim.signature,
            of: claim.stringToSign(request))
        return AuthenticatedRequest(
            credential: credential, payload: try payload(claim, key: key, signature: claim.signature))
    }

    /// Returns the credential that signed `text`, and the key.
    func signer(
        _ accessKey: String, _ sessionToken: String?, scope: String, signature: String,
        of text: @autoclosure () -> String
    ) async throws -> (credential: S3Credential, key: [UInt8]) {
        let credential = try await credential(accessKey, sessionToken)
        let key = keys.key(secret: credential.secretKey, scope: scope)
        guard ConstantTime.areEqual(HMACSHA256.authenticate(text(), key: key).hex, signature) else {
            throw Self.wrongSignature
        }
        return (credential, key)
    }

    /// Returns the credential that presigned a URL or signed a form with Version 2.
    ///
    /// A Version 2 signature has no date, so its expiration may be at most a week from now, the
    /// limit of a Version 4 signature made now.
    func authenticate(_ claim: SignatureV2) async throws -> S3Credential {
        guard now() <= claim.expires else { throw S3Error("AccessDenied", "Request has expired", 403) }
        guard claim.expires <= now() + 604_800 else {
            throw S3Error("AccessDenied", "The expiration is more than a week from now", 403)
        }
        let credential = try await credential(claim.accessKey, claim.sessionToken)
        guard claim.isValid(credential.secretKey) else { throw Self.wrongSignature }
        return credential
    }

    private func credential(_ accessKey: String, _ sessionToken: String?) async throws -> S3Credential {
        guard let credential = try await credentials.credential(accessKey: accessKey, sessionToken: sessionToken) else {
            throw sessionToken == nil
                ? S3Error("InvalidAccessKeyId", "The access key Id you provided does not exist in our records.", 403)
                : S3Error("ExpiredToken", "The provided token has expired or is malformed.", 400)
        }
        return credential
    }

    private static let wrongSignature = S3Error(
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
        403)

    /// Returns the form of a body. Its hash may be in a header that the URL does not sign.
    private static func payload(ofVersion2 request: HTTPServerRequest) throws(S3Error) -> AuthenticatedRequest.Payload {
        switch request.headers["x-amz-content-sha256"] {
        case nil, "UNSIGNED-PAYLOAD": return .unsigned
        case let hash? where hash.utf8.count == 64 && Hex.decode(hash) != nil: return .sha256(hash.lowercased())
        default: throw S3Error.invalidRequest("A body in signed chunks needs Signature Version 4.")
        }
    }

    private func checkTime(of claim: SignatureClaim) throws {
        guard let time = claim.time else {
            throw S3Error("AuthorizationHeaderMalformed", "The date of the request is missing or malformed.", 400)
        }
        let age = now() - time
        if let expires = claim.expires {
            guard age >= -900 else { throw Self.skewed }
            guard age <= expires else { throw S3Error("AccessDenied", "Request has expired", 403) }
        } else {
            guard abs(age) <= 900 else { throw Self.skewed }
        }
    }

    private static let skewed = S3Error(
        "RequestTimeTooSkewed", "The difference between the request time and the server's time is too large.", 403)

    private func payload(_ claim: SignatureClaim, key: [UInt8], signature: String) throws
        -> AuthenticatedRequest.Payload
    {
        let signer = ChunkSigner(key: key, seed: signature, date: claim.date, scope: claim.scope)
        switch claim.payloadHash {
        case "UNSIGNED-PAYLOAD": return .unsigned
        case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD": return .chunked(signer, hasTrailer: false)
        case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": return .chunked(signer, hasTrailer: true)
        case "STREAMING-UNSIGNED-PAYLOAD-TRAILER": return .chunked(nil, hasTrailer: true)
        default:
            guard claim.payloadHash.utf8.count == 64, Hex.decode(claim.payloadHash) != nil else {
                throw S3Error.invalidArgument(
                    "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a STREAMING- form, or a valid sha256 value.")
            }
            return .sha256(claim.payloadHash.lowercased())
        }
    }
}

/// The signature of a request, as the request states it and before it is verified.
struct SignatureClaim {
    let accessKey: String
    let sessionToken: String?
    /// The scope, `date/region/service/aws4_request`.
    let scope: String
    /// The time of the request, `20261121T120000Z`.
    let date: String
    let signedHeaders: [String]
    let signature: String
    let payloadHash: String
    /// The seconds for which a presigned URL is valid; nil for a header.
    let expires: Int64?

    init(_ request: HTTPServerRequest) throws {
        if let header = request.headers["Authorization"] {
            try self.init(header: header, request)
        } else if request.target[query: "X-Amz-Algorithm"] != nil {
            try self.init(presigned: request)
        } else {
            throw S3Error.accessDenied
        }
    }

    private static let algorithm = "AWS4-HMAC-SHA256"

    private static let otherAlgorithm = S3Error.invalidRequest(
        "The authorization mechanism you have provided is not supported. Please use \(algorithm).")

    private init(header: String, _ request: HTTPServerRequest) throws {
        let algorithm = Self.algorithm
        guard header.hasPrefix(algorithm) else { throw Self.otherAlgorithm }
        var parts: [String: String] = [:]
        for item in header.utf8.dropFirst(algorithm.utf8.count).split(separator: UInt8(ascii: ",")) {
            let item = item.drop { $0 == UInt8(ascii: " ") }
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else { continue }
            parts[String(Substring(item[..<equals]))] = String(Substring(item[equals...].dropFirst()))
        }
        guard let credential = parts["Credential"], let headers = parts["SignedHeaders"],
            let signature = parts["Signature"]
        else { throw Self.malformed }
        (accessKey, scope) = try Self.split(credential: credential)
        signedHeaders = Self.names(headers)
        self.signature = signature
        sessionToken = request.headers["x-amz-security-token"]
        date = request.headers["x-amz-date"] ?? ""
        payloadHash = request.headers["x-amz-content-sha256"] ?? SHA256.hash("").hex
        expires = nil
        try requireSigned(request) { $0 == "host" || $0.hasPrefix("x-amz-") }
    }

    /// Throws if a header that changes the meaning of the request is not signed, because a third
    /// party could have added it.
    private func requireSigned(_ request: HTTPServerRequest, _ steers: (_ name: String) -> Bool) throws {
        let steering = request.headers.lazy.map { $0.name.lowercased() }.filter(steers)
        guard steering.allSatisfy(signedHeaders.contains), signedHeaders.contains("host") else {
            throw S3Error("AccessDenied", "There were headers present in the request which were not signed", 403)
        }
    }

    private init(presigned request: HTTPServerRequest) throws {
        let target = request.target
        guard target[query: "X-Amz-Algorithm"] == "AWS4-HMAC-SHA256",
            let credential = target[query: "X-Amz-Credential"], let headers = target[query: "X-Amz-SignedHeaders"],
            let signature = target[query: "X-Amz-Signature"], let date = target[query: "X-Amz-Date"],
            let expires = target[query: "X-Amz-Expires"].flatMap({ Int64($0) }), (1...604_800).contains(expires)
        else {
            throw S3Error(
                "AuthorizationQueryParametersError",
                "The X-Amz- query parameters of a presigned URL are missing or malformed.",
                400)
        }
        (accessKey, scope) = try Self.split(credential: credential)
        signedHeaders = Self.names(headers)
        self.signature = signature
        sessionToken = target[query: "X-Amz-Security-Token"]
        self.date = date
        self.expires = expires
        payloadHash = request.headers["x-amz-content-sha256"] ?? "UNSIGNED-PAYLOAD"
        guard signedHeaders.contains("host") else { throw Self.malformed }
        // The signer has allowed one request, not a copy from another object or an archive of other
        // objects.
        try requireSigned(request) { $0.hasPrefix("x-amz-") && $0 != "x-amz-content-sha256" }
    }

    private static let malformed = S3Error(
        "AuthorizationHeaderMalformed", "The authorization header is malformed.", 400)

    private static func names(_ signedHeaders: String) -> [String] {
        signedHeaders.utf8.split(separator: UInt8(ascii: ";")).map { Substring($0).lowercased() }
    }

    static func split(credential: String) throws -> (accessKey: String, scope: String) {
        let bytes = credential.utf8
        let slashes = bytes.indices.filter { bytes[$0] == UInt8(ascii: "/") }.suffix(4)
        guard slashes.count == 4, let first = slashes.first, let last = slashes.last else { throw malformed }
        let scope = bytes[first...].dropFirst()
        guard bytes[last...].elementsEqual("/aws4_request".utf8),
            scope.firstIndex(of: UInt8(ascii: "/")).map({
                bytes.distance(from: scope.startIndex, to: $0)
            }) == 8
        else { throw malformed }
        return (String(Substring(bytes[..<first])), String(Substring(scope)))
    }

    /// The time in seconds since 1970; nil if the date is malformed or differs from that of the
    /// scope.
    var time: Int64? { Self.time(date, scope: scope) }

    static func time(_ date: String, scope: String) -> Int64? {
        guard date.utf8.count == 16, date.hasSuffix("Z"), scope.hasPrefix(date.prefix(8)) else { return nil }
        return UTCTime(basic: date)?.seconds
    }

    func stringToSign(_ request: HTTPServerRequest) -> String {
        "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(SHA256.hash(canonicalRequest(request)).hex)"
    }

    private func canonicalRequest(_ request: HTTPServerRequest) -> String {
        var text = "\(request.method)\n"
        for segment in request.target.segments { text += "/\(PercentEncoding.encode(segment))" }
        if request.target.segments.isEmpty { text += "/" }
        text += "\n\(canonicalQuery(request))\n"
        for name in signedHeaders {
            let values = request.headers.values(name).map(Self.withSingleSpaces)
            text += "\(name):\(values.joined(separator: ","))\n"
        }
        text += "\n\(signedHeaders.joined(separator: ";"))\n\(payloadHash)"
        return text
    }

    private func canonicalQuery(_ request: HTTPServerRequest) -> String {
        var items: [(name: String, value: String)] = []
        for item in request.target.query where item.name != "X-Amz-Signature" {
            items.append((PercentEncoding.encode(item.name), PercentEncoding.encode(item.value ?? "")))
        }
        items.sort { $0.name == $1.name ? $0.value < $1.value : $0.name < $1.name }
        return items.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    private static func withSingleSpaces(_ value: String) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard value.utf8.contains(where: isSpace) else { return value }
        return value.utf8.split(whereSeparator: isSpace).map { String(Substring($0)) }.joined(separator: " ")
    }
}

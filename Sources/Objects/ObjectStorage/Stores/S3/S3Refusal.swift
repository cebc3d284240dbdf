import HTTPMessages
import XML

/// An answer of an S3 store that is not the one hoped for, and what to make of it.
struct S3Refusal: Sendable {
    enum Remedy: Sendable {
        /// Sign with the clock of the store, and try at once.
        case correctClock
        /// Fetch new keys, and try at once.
        case renewCredentials
        case none
    }

    let status: Int
    /// From the body; nil where that is no S3 error, as with answers to HEAD, of proxies and of hotel networks.
    let code: String?
    let message: String?
    let retryAfter: Duration?

    init(status: HTTPStatus, headers: HTTPHeaders, body: [UInt8]) {
        self.status = status.rawValue
        let error = (try? XMLElement(parsing: body)).flatMap { $0.name == "Error" ? $0 : nil }
        code = error?["Code"]
        message = error?["Message"]
        retryAfter = headers["Retry-After"].flatMap { Int($0) }.map { .seconds(min(max(0, $0), 3600)) }
    }

    var remedy: Remedy {
        switch code {
        case "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture": .correctClock
        case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired": .renewCredentials
        // The answer to a HEAD carries no code; a skewed clock and old keys look alike.
        case nil where status == 403 || status == 400: .renewCredentials
        default: .none
        }
    }

    /// "Error responses", Amazon S3 API Reference.
    func error(_ what: String) -> ObjectStorageError {
        ObjectStorageError(kind, "\(what): \(explanation)", retryAfter: retryAfter)
    }

    private var kind: ObjectStorageError.Code {
        switch code {
        case "NoSuchKey", "NoSuchUpload": return .notFound
        case "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted", "BadDigest",
            "XAmzContentSHA256Mismatch", "IncompleteBody", "RequestTimeTooSkewed", "ExpiredToken":
            return .transient
        // Nothing is known of the object then; somebody will make the bucket, or name the right one.
        case "NoSuchBucket": return .unavailable
        case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull": return .full
        case "InvalidRange", "EntityTooLarge", "KeyTooLongError", "InvalidArgument", "InvalidRequest",
            "NotImplemented":
            return .invalid
        default: break
        }
        switch status {
        case 401, 403, 407: return .permission
        case 404: return code == nil ? .transient : .notFound
        case 507: return .full
        case 416: return .invalid
        // S3 says EntityTooLarge: whoever has no code is a proxy with a limit of its own, which somebody will raise.
        case 413: return .transient
        // Redirections of S3 name a wrong region; all others are of somebody who is in the way.
        case 300..<400: return code == nil ? .transient : .invalid
        case 408, 425, 429, 500...: return .transient
        case 200..<300: return .transient
        default: return .unavailable
        }
    }

    private var explanation: String {
        switch kind {
        case .permission: "the keys are not good for this (\(reason)); get new ones, or ask for access"
        case .full: "the store is full (\(reason)); free some space there"
        case .transient where code == nil && status == 413:
            "a proxy before the store takes no request of this size (status 413); raise its limit, to 16 MiB at least"
        default:
            code == nil && kind == .transient && status < 500
                ? "the answer is not one of an S3 store (status \(status)); is there a sign-in page in the way?"
                : reason
        }
    }

    private var reason: String {
        guard let code else { return "status \(status)" }
        return message.map { "\(code), \($0)" } ?? code
    }
}

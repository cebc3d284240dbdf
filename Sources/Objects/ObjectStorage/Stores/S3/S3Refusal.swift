import HTTPMessages
import XML

/// An unexpected response of an S3 store, and how to react to it.
struct S3Refusal: Sendable {
    /// A change that may make the same request succeed at once.
    enum Remedy: Sendable {
        /// Sign the request with the clock of the store.
        case correctClock
        /// Fetch new credentials.
        case renewCredentials
        case none
    }

    let status: Int
    /// The code in the body. Nil if the body is no S3 error, as in responses to HEAD, of proxies
    /// and of hotel networks.
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
        // The response to HEAD has no code, so a wrong clock cannot be told from expired
        // credentials.
        case nil where status == 403 || status == 400: .renewCredentials
        default: .none
        }
    }

    /// Converts the response to an error, as described in "Error responses", Amazon S3 API
    /// Reference.
    func error(_ what: String) -> ObjectStorageError {
        ObjectStorageError(kind, "\(what): \(explanation)", retryAfter: retryAfter)
    }

    private var kind: ObjectStorageError.Code {
        switch code {
        case "NoSuchKey", "NoSuchUpload": return .notFound
        case "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted", "BadDigest",
            "XAmzContentSHA256Mismatch", "IncompleteBody", "RequestTimeTooSkewed", "ExpiredToken":
            return .transient
        // This says nothing about the object. The bucket may be created later, or its name
        // corrected.
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
        // S3 would say EntityTooLarge. Without a code this is a proxy with a limit of its own,
        // which can be raised.
        case 413: return .transient
        // S3 redirects if the region is wrong. Redirects without a code come from something else on
        // the network.
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

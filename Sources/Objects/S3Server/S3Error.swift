import HTTPMessages

/// An error with a code and status of Amazon's list ("Error responses", Amazon S3 API Reference).
struct S3Error: Error {
    let code: String
    let message: String
    let status: HTTPStatus
    var headers: HTTPHeaders = [:]

    init(_ code: String, _ message: String, _ status: HTTPStatus) {
        self.code = code
        self.message = message
        self.status = status
    }

    static let accessDenied = S3Error("AccessDenied", "Access Denied", 403)
    static let noSuchKey = S3Error("NoSuchKey", "The specified key does not exist.", 404)
    static let noSuchBucket = S3Error("NoSuchBucket", "The specified bucket does not exist", 404)
    static let noSuchUpload = S3Error(
        "NoSuchUpload", "The specified upload does not exist. It may have been aborted or completed.", 404)
    static let invalidRange = S3Error("InvalidRange", "The requested range is not satisfiable", 416)
    static let preconditionFailed = S3Error(
        "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412)
    static let malformedXML = S3Error(
        "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema", 400
    )
    static let methodNotAllowed = S3Error(
        "MethodNotAllowed", "The specified method is not allowed against this resource.", 405)
    static let badDigest = S3Error("BadDigest", "The digest you specified did not match the received content.", 400)
    static let incompleteBody = S3Error(
        "IncompleteBody", "The body has not the number of bytes given in the Content-Length header.", 400)
    static let entityTooLarge = S3Error("EntityTooLarge", "The object is larger than this server accepts.", 400)
    static let missingLength = S3Error(
        "MissingContentLength", "You must provide the Content-Length HTTP header.", 411)
    static let noSpace = S3Error("InsufficientStorage", "The server's disk is full.", 507)

    static func invalidArgument(_ message: String) -> S3Error { S3Error("InvalidArgument", message, 400) }
    static func invalidRequest(_ message: String) -> S3Error { S3Error("InvalidRequest", message, 400) }
    static func notImplemented(_ what: String) -> S3Error {
        S3Error("NotImplemented", "\(what) is not implemented by this server.", 501)
    }
}

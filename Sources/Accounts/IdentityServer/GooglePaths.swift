package import HTTPMessages
package import HTTPServer
import JSON

/// The paths at which Google's client libraries and emulators call. An operation that this server
/// does not know is answered there as Google would: a library that found S3's XML instead would
/// report a broken answer and not what is missing.
package enum GooglePaths {
    /// The first parts of the paths. Buckets cannot have these names.
    private static let roots: Set<String> = [
        "v1", "v2", "emulator", "identitytoolkit", "identitytoolkit.googleapis.com", "securetoken.googleapis.com",
        "www.googleapis.com",
    ]

    /// Returns the answer to the request with which a browser asks whether a page of another site may call.
    ///
    /// Every site may: what a call may do follows from its token, and there are no cookies.
    package static func preflight(_ request: HTTPServerRequest) -> HTTPResponse {
        var headers: HTTPHeaders = [
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Allow-Methods": "GET, POST, PATCH, PUT, DELETE, OPTIONS",
            "Access-Control-Max-Age": "3600", "Vary": "Access-Control-Request-Headers",
        ]
        if let asked = request.headers["Access-Control-Request-Headers"], asked.utf8.count <= 2048 {
            headers["Access-Control-Allow-Headers"] = asked
        }
        return HTTPResponse(.noContent, headers: headers)
    }

    /// Returns an answer that pages of other sites may read.
    package static func shared(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Access-Control-Allow-Origin"] = "*"
        return response
    }

    /// Whether a path is one of these, or below one.
    package static func contain(_ path: String) -> Bool {
        path.hasPrefix("/") && roots.contains(String(path.dropFirst().prefix { $0 != "/" }))
    }

    /// The answer to an operation that is not there (google.rpc.Status as JSON, with the list that older clients read).
    package static func unknown(_ request: HTTPServerRequest) -> HTTPResponse {
        let message = "\(request.method) \(request.target.path) is not an operation of this server."
        let error: JSON = [
            "error": [
                "code": 404, "message": .string(message), "status": "NOT_FOUND",
                "errors": [["message": .string(message), "domain": "global", "reason": "notFound"]],
            ]
        ]
        return HTTPResponse(
            .notFound, headers: ["Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"],
            body: request.method == .head ? .omitted(length: error.bytes.count) : .bytes(error.bytes))
    }
}

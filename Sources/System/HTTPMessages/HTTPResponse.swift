/// A response, received or to be sent.
package struct HTTPResponse: Sendable {
    package var status: HTTPStatus
    package var headers: HTTPHeaders
    package var body: HTTPBody

    package init(_ status: HTTPStatus = .ok, headers: HTTPHeaders = [:], body: HTTPBody = .none) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Creates a response with a short plain text.
    package static func text(_ status: HTTPStatus, _ text: String) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .text(text))
    }
}

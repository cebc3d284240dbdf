package import HTTPMessages

/// A request as a handler sees it.
package struct HTTPServerRequest: Sendable {
    package let method: HTTPMethod
    package let target: HTTPTarget
    package let headers: HTTPHeaders
    /// The body, which can be read until the handler returns; the rest is then dropped.
    package let body: HTTPBody
    package let peer: HTTPPeer
    /// Whether the request came over TLS.
    package let isSecure: Bool

    package init(
        _ method: HTTPMethod, _ target: HTTPTarget, headers: HTTPHeaders = [:], body: HTTPBody = .none,
        peer: HTTPPeer = HTTPPeer(), isSecure: Bool = false
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peer = peer
        self.isSecure = isSecure
    }
}

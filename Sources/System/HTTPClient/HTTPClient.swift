package import HTTPMessages

/// A client that sends requests over HTTP/1.1 and keeps connections open for later requests. Copies
/// share connections.
///
/// All transfers run on one thread, which starts with the first request and sleeps while nothing
/// happens. Redirects are returned as responses and not followed. Proxies are taken from the
/// environment (`https_proxy`, `no_proxy`, …), except for Unix sockets and loopback addresses. The
/// connections are closed when the last copy of the client and its last unread response are
/// released.
package struct HTTPClient: Sendable {
    package struct Configuration: Sendable {
        /// A PEM file with the certificates to trust instead of the system's.
        package var certificateAuthorities: String?
        /// The maximum number of unused connections that are kept open.
        package var idleConnections = 32
        /// The maximum number of connections to one host; further requests wait. 0 means no limit.
        package var connectionsPerHost = 0
        package var userAgent: String?
        /// The maximum total size of a response's header fields in bytes.
        package var headerLimit = 64 << 10

        package init() {}
    }

    private let lease: Lease

    package init(_ configuration: Configuration = Configuration()) {
        lease = Lease(engine: ClientEngine(configuration))
    }

    /// Sends a request and returns the response as soon as its status and header fields have
    /// arrived; the body follows as it is read.
    ///
    /// Cancelling the task ends the transfer, also while the body is being read. A request with a
    /// streamed body is never sent twice. Any other request may be, if a kept connection turns out
    /// to be dead before a byte was answered.
    ///
    /// - Throws: `HTTPError` or `CancellationError`.
    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let transfer = try Transfer(request, engine: lease.engine)
        let (status, headers) = try await withTaskCancellationHandler {
            try lease.engine.start(transfer)
            return try await transfer.head()
        } onCancel: {
            transfer.cancel()
        }
        var response = HTTPResponse(status, headers: headers)
        if request.method != .head {
            let body = ResponseBody(transfer, lease)
            response.body = HTTPBody(incoming: headers.contentLength) {
                try await body.transfer.next()
            } rest: {
                try await body.transfer.collectRest(into: &$0)
            }
        }
        return response
    }

    /// A reference that cancels the transfer when its last reader is gone.
    private final class ResponseBody: Sendable {
        let transfer: Transfer
        private let lease: Lease

        init(_ transfer: Transfer, _ lease: Lease) {
            self.transfer = transfer
            self.lease = lease
        }

        deinit { transfer.cancel() }
    }

    /// A reference that stops the engine when its last user is gone.
    final class Lease: Sendable {
        let engine: ClientEngine

        init(engine: ClientEngine) { self.engine = engine }

        deinit { engine.stop() }
    }
}

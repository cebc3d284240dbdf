package import HTTPMessages

/// Sends requests over HTTP/1.1 and keeps connections open for the next ones. Copies share connections.
///
/// All transfers run on one thread, started with the first request, which sleeps until something moves. Redirects are
/// answers, not followed. Proxies are taken from the environment (`https_proxy`, `no_proxy`, …) except for Unix
/// sockets and loopback addresses. The connections are closed when the last copy and the last unread response of the
/// client are gone.
package struct HTTPClient: Sendable {
    package struct Configuration: Sendable {
        /// PEM file with the certificates to trust instead of the system's.
        package var certificateAuthorities: String?
        /// Connections kept open while unused.
        package var idleConnections = 32
        /// At most this many connections to one host at a time, further requests wait; 0: no limit.
        package var connectionsPerHost = 0
        package var userAgent: String?
        /// Limit of a response's header fields together, in bytes.
        package var headerLimit = 64 << 10

        package init() {}
    }

    private let lease: Lease

    package init(_ configuration: Configuration = Configuration()) {
        lease = Lease(engine: ClientEngine(configuration))
    }

    /// Returns as soon as status and header fields are there; the body follows as it is read.
    ///
    /// Cancelling the task ends the transfer, also while the body is being read. Errors are `HTTPError`, or
    /// `CancellationError`. A request whose body is a stream is never sent twice; others may be, where a kept
    /// connection turns out dead before anything was answered.
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

    /// Gives up the transfer when nobody can read it any more.
    private final class ResponseBody: Sendable {
        let transfer: Transfer
        private let lease: Lease

        init(_ transfer: Transfer, _ lease: Lease) {
            self.transfer = transfer
            self.lease = lease
        }

        deinit { transfer.cancel() }
    }

    /// Ends the thread when nobody can use it any more.
    final class Lease: Sendable {
        let engine: ClientEngine

        init(engine: ClientEngine) { self.engine = engine }

        deinit { engine.stop() }
    }
}

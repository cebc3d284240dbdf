/// A request to send.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// The absolute http or https URL. Characters that need it must be percent-encoded. It is sent
    /// unchanged, including dot segments and double slashes.
    package var url: String
    package var headers: HTTPHeaders
    package var body: HTTPBody
    /// The Unix socket to connect to; the URL then only provides the path and `Host`.
    package var socketPath: String?
    package var timeouts: Timeouts
    /// Whether a response with a short body should be returned only once it is complete. The caller
    /// is then woken once instead of once for each part.
    package var prefersWhole = false

    package struct Timeouts: Sendable {
        /// The time limit for connecting, TLS handshake included.
        package var connect: Duration
        /// The time after which an exchange that stays below `minimumRate` fails, in whole seconds, detected up to 5 s
        /// late; nil for streams that may be silent for long.
        ///
        /// The limit does not apply while the reader itself has stopped reading.
        package var stall: Duration?
        /// The bytes per second, in both directions together, below which an exchange counts as stalled.
        package var minimumRate: Int
        /// The time limit until the last byte of the response.
        package var total: Duration?

        package init(
            connect: Duration = .seconds(10), stall: Duration? = .seconds(60), minimumRate: Int = 1,
            total: Duration? = nil
        ) {
            self.connect = connect
            self.stall = stall
            self.minimumRate = minimumRate
            self.total = total
        }
    }

    package init(
        _ method: HTTPMethod = .get, _ url: String, headers: HTTPHeaders = [:], body: HTTPBody = .none,
        socketPath: String? = nil, timeouts: Timeouts = Timeouts()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.socketPath = socketPath
        self.timeouts = timeouts
    }
}

/// A request to send.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// Absolute, with http or https; anything that needs it must be percent-encoded. It is sent as it is: dots and
    /// double slashes stay.
    package var url: String
    package var headers: HTTPHeaders
    package var body: HTTPBody
    /// Connects to this Unix socket; the URL then only gives path and `Host`.
    package var socketPath: String?
    package var timeouts: Timeouts
    /// Whether a response whose body is short is wanted only once it is whole: that wakes who waits
    /// for it once, not for each part.
    package var prefersWhole = false

    package struct Timeouts: Sendable {
        /// Until connected, TLS included.
        package var connect: Duration
        /// How long not one byte may move in either direction, in whole seconds and found out up to 5 s late; nil for
        /// streams that are quiet for long. A reader that has itself stopped reading is not counted.
        package var stall: Duration?
        /// Until the last byte of the response.
        package var total: Duration?

        package init(connect: Duration = .seconds(10), stall: Duration? = .seconds(60), total: Duration? = nil) {
            self.connect = connect
            self.stall = stall
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

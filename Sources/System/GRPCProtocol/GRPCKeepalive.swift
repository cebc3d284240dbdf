/// When to find out whether a silent peer is still there.
package struct GRPCKeepalive: Sendable {
    /// Silence after which a ping is sent. Servers commonly take pings that come more often than each 10 s for abuse.
    package var time: Duration
    /// How long the answer may take before the connection counts as lost and its calls end with `unavailable`.
    package var timeout: Duration

    package init(time: Duration, timeout: Duration) {
        self.time = time
        self.timeout = timeout
    }
}

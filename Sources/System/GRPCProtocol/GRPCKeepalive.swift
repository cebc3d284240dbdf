/// The times after which a silent peer is probed and considered lost.
package struct GRPCKeepalive: Sendable {
    /// The silence after which a ping is sent. Servers commonly treat pings more frequent than
    /// every 10 s as abuse.
    package var time: Duration
    /// The time limit for the answer, after which the connection counts as lost and its calls end
    /// with `unavailable`.
    package var timeout: Duration

    package init(time: Duration, timeout: Duration) {
        self.time = time
        self.timeout = timeout
    }
}

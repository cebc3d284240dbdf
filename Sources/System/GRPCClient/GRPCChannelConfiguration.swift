package import GRPCProtocol

/// The settings of a channel: how it connects, and what it accepts.
package struct GRPCChannelConfiguration: Sendable {
    /// The protection of the connection.
    package enum Security: Sendable {
        /// HTTP/2 in plain text with prior knowledge.
        case plaintext
        /// TLS. `roots` are the PEM certificates to trust, or nil for the system's. `serverName`
        /// replaces the target's host when the server's certificate is verified.
        case tls(roots: String? = nil, serverName: String? = nil)
    }

    package var security: Security = .plaintext
    /// The times for probing a silent server; nil to never probe.
    package var keepalive: GRPCKeepalive? = GRPCKeepalive(time: .seconds(30), timeout: .seconds(10))
    /// Whether to probe also while no call is open.
    package var keepsAliveWithoutCalls = false
    /// The maximum size of a received message in bytes; nil for no limit. A larger one ends its
    /// call with `resourceExhausted`.
    package var maximumReceiveSize: Int? = 16 << 20
    /// The maximum size of a sent message in bytes; nil for no limit.
    package var maximumSendSize: Int?
    /// The maximum size of the headers or the trailers of an answer in bytes: the sum of names,
    /// values, and 32 for each field.
    package var maximumMetadataSize = 64 << 10
    /// The pause after a failed connection attempt, which grows from the lower to the upper bound,
    /// with jitter.
    package var reconnectBackoff: ClosedRange<Duration> = .seconds(1) ... .seconds(30)
    /// A name that precedes this library's in the `user-agent` header.
    package var userAgent: String?

    package init(security: Security = .plaintext) { self.security = security }
}

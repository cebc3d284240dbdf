package import GRPCProtocol

/// How a channel connects and what it accepts.
package struct GRPCChannelConfiguration: Sendable {
    /// How the connection is protected.
    package enum Security: Sendable {
        /// HTTP/2 in the clear with prior knowledge.
        case plaintext
        /// TLS. `roots` are PEM certificates to trust, nil the system's. `serverName` replaces the target's host in the
        /// check of the server's certificate.
        case tls(roots: String? = nil, serverName: String? = nil)
    }

    package var security: Security = .plaintext
    /// When to ask a silent server whether it is still there; nil is never.
    package var keepalive: GRPCKeepalive? = GRPCKeepalive(time: .seconds(30), timeout: .seconds(10))
    /// Whether to ask when no call is open, too.
    package var keepsAliveWithoutCalls = false
    /// Largest message accepted, in bytes; nil is no limit. A larger one ends its call with `resourceExhausted`.
    package var maximumReceiveSize: Int? = 16 << 20
    /// Largest message sent, in bytes; nil is no limit.
    package var maximumSendSize: Int?
    /// Largest sum of the names and values of the headers or the trailers of an answer, and of 32
    /// for each field, in bytes.
    package var maximumMetadataSize = 64 << 10
    /// Wait after a failed connection attempt; it grows from the first to the second, with jitter.
    package var reconnectBackoff: ClosedRange<Duration> = .seconds(1) ... .seconds(30)
    /// Put before this library's name in the `user-agent` header.
    package var userAgent: String?

    package init(security: Security = .plaintext) { self.security = security }
}

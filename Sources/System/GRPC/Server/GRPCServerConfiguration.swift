import Glibc
package import SystemIO

/// Where a server listens and what it accepts.
package struct GRPCServerConfiguration: Sendable {
    /// How connections are protected.
    package enum Security: Sendable {
        /// HTTP/2 in the clear with prior knowledge.
        case plaintext
        /// TLS with a certificate chain and its private key, both PEM.
        case tls(certificateChain: String, privateKey: String)
    }

    /// Host name or address to listen on; an IPv6 address without brackets.
    package var host: String
    /// Port to listen on; 0 takes a free one.
    package var port: Int
    package var security: Security
    /// Largest message accepted, in bytes; nil is no limit. A larger one ends its call with `resourceExhausted`.
    package var maximumReceiveSize: Int? = 16 << 20
    /// Largest sum of a call's header names and values, in bytes.
    package var maximumMetadataSize = 32 << 10
    /// Calls that one connection may have open; further ones wait at the client.
    package var maximumStreamsPerConnection = 10_000
    /// Whose word on a call's client is taken; see `GRPCServerCall.peer`.
    package var trustedProxies = TrustedProxies()
    /// When to ask a silent client whether it is still there.
    package var keepalive = GRPCKeepalive(time: .seconds(60), timeout: .seconds(20))
    /// Clients that ping more often than this, with or without calls, are disconnected with `ENHANCE_YOUR_CALM` after
    /// the third such ping. Half of what clients are told, so that jitter on the way does not count against them.
    package var minimumPingInterval: Duration = .seconds(5)
    /// Threads that read from the network and run the handlers, which must not block them: as many as processors.
    package var threads = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    package init(host: String = "127.0.0.1", port: Int = 0, security: Security = .plaintext) {
        self.host = host
        self.port = port
        self.security = security
    }
}

package import GRPCProtocol
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
    /// Largest sum of a call's header names and values, and of 32 for each field, in bytes.
    package var maximumMetadataSize = 32 << 10
    /// Calls that one connection may have open once a call on it was authorized; further ones wait at the client.
    package var maximumStreamsPerConnection = 10_000
    /// The same before that.
    package var maximumStreamsBeforeSignIn = 100
    /// Looks at the metadata of a call before any message of it is taken. Returns the caller, which
    /// `GRPCServerCall.caller` then has; throws the status that the call ends with. It runs on the
    /// thread of the connection and must not wait. Without it every connection counts as signed in,
    /// and limits count by address.
    package var authorize: (@Sendable (_ metadata: GRPCMetadata) throws(GRPCStatus) -> any GRPCCaller)?
    package var limits = Limits()
    /// Whose word on a call's client is taken; see `GRPCServerCall.peer`.
    package var trustedProxies = TrustedProxies()
    /// When to ask a silent client whether it is still there.
    package var keepalive = GRPCKeepalive(time: .seconds(60), timeout: .seconds(20))
    /// Clients that ping more often than this, with or without calls, are disconnected with `ENHANCE_YOUR_CALM` after
    /// the third such ping. Half of what clients are told, so that jitter on the way does not count against them.
    package var minimumPingInterval: Duration = .seconds(5)
    /// Threads that read from the network and run the handlers, which must not block them: as many as processors.
    package var threads = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// What clients may hold of the server. A call over a limit of bytes ends with `resourceExhausted`.
    package struct Limits: Sendable {
        /// Connections at a time; see `ConnectionLimiter`.
        package var connections = 4096
        /// The same for one address, or one IPv6 network of 64 bits. Trusted proxies have no such limit.
        package var connectionsPerAddress = 512
        /// The same for one account.
        package var connectionsPerAccount = 256
        /// Bytes of an account's requests: header fields, and messages until the handler asks for the next one or ends.
        package var heldPerAccount = 64 << 20
        /// The same for an address, of calls without an account.
        package var heldPerAddress = 8 << 20
        /// Bytes of answers that a connection's client has not read.
        package var unreadPerConnection = 12 << 20
        /// The same for all connections of an account, or of an address without one.
        package var unreadPerCaller = 16 << 20

        package init() {}
    }

    package init(host: String = "127.0.0.1", port: Int = 0, security: Security = .plaintext) {
        self.host = host
        self.port = port
        self.security = security
    }
}

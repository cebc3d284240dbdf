package import GRPCProtocol
import Glibc
package import SystemIO

/// The address that a server listens on, and its limits.
package struct GRPCServerConfiguration: Sendable {
    /// The protection of connections.
    package enum Security: Sendable {
        /// HTTP/2 in plain text with prior knowledge.
        case plaintext
        /// TLS with a certificate chain and its private key, both PEM.
        case tls(certificateChain: String, privateKey: String)
    }

    /// The host name or address to listen on; an IPv6 address has no brackets.
    package var host: String
    /// The port to listen on. Port 0 selects a free port.
    package var port: Int
    package var security: Security
    /// The maximum size of a received message in bytes; nil for no limit. A larger one ends its
    /// call with `resourceExhausted`.
    package var maximumReceiveSize: Int? = 16 << 20
    /// The maximum size of a call's headers in bytes: the sum of names, values, and 32 for each
    /// field.
    package var maximumMetadataSize = 32 << 10
    /// The maximum number of open calls of a connection after a call on it was authorized. Clients
    /// queue further calls.
    package var maximumStreamsPerConnection = 10_000
    /// The maximum number of open calls of a connection before a call on it was authorized.
    package var maximumStreamsBeforeSignIn = 100
    /// Identifies the caller from the metadata of a call, before any message of it is read.
    ///
    /// The result becomes `GRPCServerCall.caller`. A thrown status ends the call. The hook runs on
    /// the thread of the connection and must not block. Without a hook, every connection counts as
    /// authorized, and the limits apply to addresses.
    package var authorize: (@Sendable (_ metadata: GRPCMetadata) throws(GRPCStatus) -> any GRPCCaller)?
    /// Receives the sockets of plaintext connections that do not begin with HTTP/2's preface, with
    /// all bytes unread. Called on the thread of the connection. Without it such connections are
    /// closed.
    package var handOver: (@Sendable (_ descriptor: Int32) -> Void)?
    package var limits = Limits()
    /// The proxies whose header fields name a call's client; see `GRPCServerCall.peer`.
    package var trustedProxies = TrustedProxies()
    /// The times for probing a silent client.
    package var keepalive = GRPCKeepalive(time: .seconds(60), timeout: .seconds(20))
    /// The minimum time between a client's pings, with or without calls. A client is disconnected
    /// with `ENHANCE_YOUR_CALM` after the third ping that comes sooner.
    ///
    /// The value is half of the interval that clients are advised to use, so that jitter on the
    /// network does not count against them.
    package var minimumPingInterval: Duration = .seconds(5)
    /// The number of threads that read from the network and run the handlers, which must not block
    /// them. The default is the number of processors.
    package var threads = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The resources of the server that clients may use. A call over a limit of bytes ends with
    /// `resourceExhausted`.
    package struct Limits: Sendable {
        /// The maximum number of connections; see `ConnectionLimiter`.
        package var connections = 4096
        /// The maximum number of connections of one address, or of one IPv6 network of 64 bits.
        /// Trusted proxies have no such limit.
        package var connectionsPerAddress = 512
        /// The maximum number of connections of one account.
        package var connectionsPerAccount = 256
        /// The maximum size in bytes of an account's requests: header fields, and messages until
        /// the handler reads the next one or ends.
        package var heldPerAccount = 64 << 20
        /// The maximum size in bytes of the requests of an address without an account.
        package var heldPerAddress = 8 << 20
        /// The maximum number of bytes of answers that the client of a connection has not read.
        package var unreadPerConnection = 12 << 20
        /// The maximum number of unread bytes of all connections of an account, or of an address
        /// without one.
        package var unreadPerCaller = 16 << 20

        package init() {}
    }

    package init(host: String = "127.0.0.1", port: Int = 0, security: Security = .plaintext) {
        self.host = host
        self.port = port
        self.security = security
    }
}

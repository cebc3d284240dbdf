package import SystemIO

/// The limits of a server on its clients.
package struct HTTPServerLimits: Sendable {
    /// Connections at a time. A further one takes the place of one that does nothing; see `ConnectionLimiter`.
    package var connections = 1024
    /// The same for one address, or one IPv6 network of 64 bits; 0 for no limit. Trusted
    /// proxies have no such limit.
    package var connectionsPerAddress = 512
    /// How long the header of a request may take; for the first one of a connection from its beginning.
    package var header: Duration = .seconds(10)
    /// How long a connection may stand still between two requests.
    package var idle: Duration = .seconds(75)
    /// How fast a client has to send the body of its request, and to read the answer, while the
    /// server waits for it.
    package var pace = TransferPace.Limits()
    /// Memory of a connection, for its header fields (up to about half of it) and its reads.
    package var connectionMemory = 64 << 10
    /// Size of a request's body in bytes.
    package var body = 64 << 20

    package init() {}
}

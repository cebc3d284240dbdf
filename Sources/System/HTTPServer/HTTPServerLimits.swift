package import SystemIO

/// The limits of a server on its clients.
package struct HTTPServerLimits: Sendable {
    /// Connections at a time. A further one takes the place of one that does nothing; see `ConnectionLimiter`.
    package var connections = 1024
    /// The same for one address, or one IPv6 network of 64 bits; 0 for no limit. Trusted
    /// proxies have no such limit.
    package var connectionsPerAddress = 512
    /// The longest time for the header of a request; for the first one, counted from the connection's
    /// start.
    package var header: Duration = .seconds(10)
    /// The longest time between two requests of a connection.
    package var idle: Duration = .seconds(75)
    /// The pace at which a client must send the body of its request, and read the response, while the
    /// server waits for it.
    package var pace = TransferPace.Limits()
    /// Memory of a connection, for its header fields (up to about half of it) and its reads.
    package var connectionMemory = 64 << 10
    /// Size of a request's body in bytes.
    package var body = 64 << 20

    package init() {}
}

import Glibc
import SystemIO

/// The other end of a connection.
package struct HTTPPeer: Hashable, Sendable {
    /// The process that connected to a Unix socket, as reported by the kernel (SO_PEERCRED,
    /// unix(7)).
    package struct Credentials: Hashable, Sendable {
        package let processID: Int32
        package let userID: UInt32
        package let groupID: UInt32

        package init(processID: Int32, userID: UInt32, groupID: UInt32) {
            self.processID = processID
            self.userID = userID
            self.groupID = groupID
        }
    }

    /// `host:port` of the client, with brackets around an IPv6 address; `local` for Unix sockets.
    ///
    /// Behind a trusted proxy this is the address that the proxy reports; the port is 0 if the
    /// proxy does not report one.
    package let address: String
    /// The client's process, for Unix sockets only.
    package let credentials: Credentials?

    package init(address: String = "local", credentials: Credentials? = nil) {
        self.address = address
        self.credentials = credentials
    }

    /// Creates the peer for a client that a proxy names.
    init(_ client: TrustedProxies.Client) {
        self.init(address: client.address.description(withPort: client.port ?? 0))
    }

    init(of descriptor: Int32, _ name: SocketName?) {
        guard let name = name?.address else {
            self.init(address: "unknown")
            return
        }
        guard case .unix = name else {
            self.init(address: name.description)
            return
        }
        // The fields of struct ucred: pid, uid, gid.
        var identity: (Int32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout.size(ofValue: identity))
        let code = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &identity, &size)
        self.init(
            credentials: code == 0
                ? Credentials(processID: identity.0, userID: identity.1, groupID: identity.2) : nil)
    }
}

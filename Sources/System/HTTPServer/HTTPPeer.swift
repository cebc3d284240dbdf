import Glibc
import SystemIO

/// Who is at the other end of a connection.
package struct HTTPPeer: Hashable, Sendable {
    /// The process that connected to a Unix socket, as the kernel vouches for it (SO_PEERCRED, unix(7)).
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
    /// Behind a trusted proxy this is the address that the proxy names; its port is 0 if the proxy does not tell it.
    package let address: String
    /// For Unix sockets only.
    package let credentials: Credentials?

    package init(address: String = "local", credentials: Credentials? = nil) {
        self.address = address
        self.credentials = credentials
    }

    /// The client of a connection from a proxy.
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
        // struct ucred: pid, uid, gid.
        var identity: (Int32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout.size(ofValue: identity))
        let code = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &identity, &size)
        self.init(
            credentials: code == 0
                ? Credentials(processID: identity.0, userID: identity.1, groupID: identity.2) : nil)
    }
}

import CLinux
import Glibc

/// The process at the other end of a Unix socket at the time of its connect: SO_PEERCRED of
/// unix(7).
package struct PeerCredentials: Hashable, Sendable {
    package var process: Int32
    package var user: UInt32
    package var group: UInt32

    package init(process: Int32, user: UInt32, group: UInt32) {
        self.process = process
        self.user = user
        self.group = group
    }

    /// Creates the credentials of the peer of `socket`, a connected socket that the caller keeps
    /// open.
    package init(ofSocket socket: Int32) throws(SystemError) {
        var (process, user, group): (Int32, UInt32, UInt32) = (0, 0, 0)
        guard ferry_peer_credentials(socket, &process, &user, &group) == 0 else {
            throw .last("identify the peer of", "descriptor \(socket)")
        }
        self.init(process: process, user: user, group: group)
    }

    /// The credentials of this process, as a peer would see them.
    package static var own: PeerCredentials {
        PeerCredentials(process: getpid(), user: geteuid(), group: getegid())
    }
}

import CSystemd
import Glibc

/// A listening socket that systemd opened for this process: socket activation, sd_listen_fds(3).
package struct InheritedSocket: Sendable {
    /// The value of FileDescriptorName= in the socket unit, by default the unit's name.
    package var name: String
    /// The descriptor, which is close-on-exec and owned by the caller of `takeAll`.
    package var descriptor: Int32
    /// Whether the descriptor is a listening stream socket. The unit may have passed something
    /// else.
    package var isListening: Bool
    package var isUnix: Bool

    /// Returns the sockets meant for this process, in the order of the unit.
    ///
    /// Returns an empty array if LISTEN_PID names another process, and on a second call. Child
    /// processes do not inherit the sockets.
    package static func takeAll() -> [InheritedSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0 else { return [] }
        defer {
            for index in 0..<Int(count) { free(names?[index]) }
            free(names)
        }
        return (0..<count).map { index in
            let descriptor = SD_LISTEN_FDS_START + index
            return InheritedSocket(
                name: names?[Int(index)].map { String(cString: $0) } ?? "", descriptor: descriptor,
                isListening: sd_is_socket(descriptor, AF_UNSPEC, Int32(SOCK_STREAM.rawValue), 1) > 0,
                isUnix: sd_is_socket(descriptor, AF_UNIX, 0, -1) > 0)
        }
    }
}

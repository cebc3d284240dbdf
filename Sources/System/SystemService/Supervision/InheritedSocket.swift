import CSystemd
import Glibc

/// A listening socket that systemd opened for this process: socket activation, sd_listen_fds(3).
package struct InheritedSocket: Sendable {
    /// FileDescriptorName= of the socket unit, by default the unit's name.
    package var name: String
    /// Close-on-exec; the taker owns it.
    package var descriptor: Int32
    /// False where the unit passed something else than a listening stream socket.
    package var isListening: Bool
    package var isUnix: Bool

    /// Takes the sockets meant for this process, in the order of the unit; none where LISTEN_PID names another one. A
    /// second call gives none, and children do not see them.
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

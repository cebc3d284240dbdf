import CLinux
import Glibc

/// A UDP socket that sends and receives small datagrams.
package final class DatagramSocket: Sendable {
    private let socket: FileDescriptor
    private let isIPv4: Bool
    /// The port at which the socket receives, which the system has chosen.
    package let port: UInt16

    /// The largest datagram that is received. More is cut off.
    private static let limit = 512

    /// Creates a socket that receives at an address of this machine.
    ///
    /// - Parameters:
    ///   - address: The address at which others reach this machine. Unless it is one of loopback, the
    ///     socket receives at all addresses of its family.
    ///   - timeout: The longest wait of `receive`.
    package init(reachableAt address: IPAddress, timeout: Duration) throws(SystemError) {
        isIPv4 = address.isIPv4
        let name = "a UDP socket"
        let raw = Glibc.socket(isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
        guard raw >= 0 else { throw .last("create", name) }
        ferry_set_close_on_exec(raw)
        socket = FileDescriptor(owning: raw, path: name)
        var limit = timeval(
            tv_sec: Int(clamping: timeout.components.seconds),
            tv_usec: Int(clamping: timeout.components.attoseconds / 1_000_000_000_000))
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let place = address.isLoopback ? address : IPAddress(isIPv4 ? "0.0.0.0" : "::") ?? address
        guard Self.withAddress(place, port: 0, isIPv4: isIPv4, { bind(raw, $0, $1) }) == 0 else {
            throw .last("bind", name)
        }
        var bound = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port: UInt16? = withUnsafeMutableBytes(of: &bound) { bytes in
            guard let base = bytes.baseAddress,
                getsockname(raw, base.assumingMemoryBound(to: sockaddr.self), &size) == 0
            else { return nil }
            // The port is at the same place in both families.
            return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
        guard let port else { throw .last("bind", name) }
        self.port = port
    }

    /// Sends a datagram without waiting. It may be lost, also for lack of memory.
    package func send(_ bytes: [UInt8], to address: IPAddress, port: UInt16) {
        _ = Self.withAddress(address, port: port, isIPv4: isIPv4) { target, size in
            bytes.withUnsafeBytes {
                sendto(
                    socket.rawValue, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL), target,
                    size)
            }
        }
    }

    /// Waits for the next datagram. Returns nil after the timeout.
    package func receive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Self.limit)
        let count = bytes.withUnsafeMutableBytes { recv(socket.rawValue, $0.baseAddress, $0.count, 0) }
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// Calls `body` with an address of a family. An IPv4 address is mapped into the other one.
    private static func withAddress<Result>(
        _ address: IPAddress, port: UInt16, isIPv4: Bool, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result? {
        if isIPv4 {
            var name = sockaddr_in()
            guard address.isIPv4, inet_pton(AF_INET, "\(address)", &name.sin_addr) == 1 else { return nil }
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            return call(&name, body)
        }
        var name = sockaddr_in6()
        guard inet_pton(AF_INET6, address.isIPv4 ? "::ffff:\(address)" : "\(address)", &name.sin6_addr) == 1 else {
            return nil
        }
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = port.bigEndian
        return call(&name, body)
    }

    private static func call<Name, Result>(
        _ name: inout Name, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result? {
        withUnsafeBytes(of: &name) { bytes in
            bytes.baseAddress.map { body($0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) }
        }
    }
}

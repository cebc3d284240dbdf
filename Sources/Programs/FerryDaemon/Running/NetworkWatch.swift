import Glibc
import SystemIO
import SystemService

/// A service that reports changes of this machine's addresses and links, through rtnetlink(7),
/// which costs nothing while nothing changes.
struct NetworkWatch: Service {
    let logger: Logger
    let onChange: @Sendable () async -> Void

    /// The time to wait for further changes, because they come in bursts while an interface comes
    /// up.
    private static let settle = Duration.milliseconds(500)

    func run() async throws {
        // Without this, a dead connection is detected by its timeouts.
        await follow("network changes", logger) { try await followChanges() }
    }

    private func followChanges() async throws {
        let socket = try Self.open()
        while true {
            try await Poller.readable(socket)
            try await Task.sleep(for: Self.settle)
            Self.drain(socket)
            logger.info("the network has changed")
            await onChange()
        }
    }

    private static func open() throws -> FileDescriptor {
        let raw = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard raw >= 0 else { throw SystemError(errno: errno, operation: "open a netlink socket") }
        let descriptor = FileDescriptor(owning: raw, path: "netlink")
        // The fields of struct sockaddr_nl: family, padding, port (0 to let the kernel choose),
        // groups. The groups are RTMGRP_LINK, RTMGRP_IPV4_IFADDR and RTMGRP_IPV6_IFADDR of
        // linux/rtnetlink.h.
        let groups: UInt32 = 0x1 | 0x10 | 0x100
        var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, groups)
        let size = socklen_t(MemoryLayout.size(ofValue: address))
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor.rawValue, $0, size) }
        }
        guard bound == 0 else { throw SystemError(errno: errno, operation: "listen to", path: "netlink") }
        return descriptor
    }

    private static func drain(_ socket: borrowing FileDescriptor) {
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
            while recv(socket.rawValue, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
    }
}

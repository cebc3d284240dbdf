import CNGHTTP2
import Glibc
import SystemIO

/// A listening socket. A server has one for each address of its host.
///
/// `@unchecked Sendable`: all methods are called on the loop's thread.
final class Listener: NetworkSource, @unchecked Sendable {
    let descriptor: Int32
    private let loop: NetworkLoop
    private let accept: @Sendable (_ descriptor: Int32, _ peer: GRPCPeer) -> Void
    private var isPaused = false

    /// The pause after which `accept` is tried again when no descriptor was free.
    private static let pause = Duration.milliseconds(200)

    init(
        _ descriptor: Int32, on loop: NetworkLoop,
        accept: @escaping @Sendable (_ descriptor: Int32, _ peer: GRPCPeer) -> Void
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.accept = accept
    }

    func close() {
        loop.forget(self)
        _ = Glibc.close(descriptor)
    }

    func ready(toRead: Bool, toWrite: Bool) {
        while true {
            var name = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let connection = withUnsafeMutablePointer(to: &name) { name in
                name.withMemoryRebound(to: sockaddr.self, capacity: 1) { ferry_accept(descriptor, $0, &size) }
            }
            if connection >= 0 {
                var yes: Int32 = 1
                setsockopt(
                    connection, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
                accept(connection, GRPCPeer(name, size))
                continue
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return
            default:
                // Clients keep waiting in the backlog until descriptors or memory are available
                // again.
                isPaused = loop.watch(self, forReads: false)
                return loop.check(at: .now + Self.pause)
            }
        }
    }

    func send() {}

    func check(at now: ContinuousClock.Instant) {
        if isPaused, loop.watch(self) { isPaused = false }
    }

    /// Binds all addresses of the host to the same port, and listens on them.
    static func bind(host: String, port: Int) throws(GRPCServerError) -> (descriptors: [Int32], port: Int) {
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        guard (0...65_535).contains(port) else {
            throw GRPCServerError(
                code: .addressNotAvailable,
                message: "Cannot listen on \(address): a port is a number from 0 to 65535.")
        }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let list else {
            throw GRPCServerError(
                code: .addressNotAvailable,
                message: "Cannot listen on \(address): the host cannot be looked up. Check its spelling.")
        }
        defer { freeaddrinfo(list) }
        var descriptors: [Int32] = []
        var chosen = port
        var failure: Int32?
        for info in sequence(first: list, next: \.pointee.ai_next) {
            switch bind(info.pointee, port: chosen, alsoIPv4: host == "::") {
            case .success((let descriptor, let port)):
                descriptors.append(descriptor)
                chosen = port
            // A machine without IPv6 may still have IPv6 addresses for its names.
            case .failure(let error): if failure == nil || error.errno == EADDRINUSE { failure = error.errno }
            }
        }
        guard let failure, descriptors.isEmpty || failure == EADDRINUSE else { return (descriptors, chosen) }
        for descriptor in descriptors { _ = Glibc.close(descriptor) }
        throw GRPCServerError(binding: address, number: failure)
    }

    private static func bind(_ info: addrinfo, port: Int, alsoIPv4: Bool) -> Result<(Int32, Int), SystemError> {
        let type = info.ai_socktype | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(info.ai_family, type, 0)
        guard descriptor >= 0 else { return .failure(SystemError(errno: errno, operation: "listen")) }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        if info.ai_family == AF_INET6 {
            var only: Int32 = alsoIPv4 ? 0 : 1
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, size)
        }
        var name = sockaddr_storage()
        var length = info.ai_addrlen
        memcpy(&name, info.ai_addr, Int(length))
        // The port is at the same offset in the addresses of both families.
        let isBound = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                $0.pointee.sin_port = in_port_t(port).bigEndian
            }
            return name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, length) == 0 && listen(descriptor, SOMAXCONN) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else {
            defer { _ = Glibc.close(descriptor) }
            return .failure(SystemError(errno: errno, operation: "listen"))
        }
        let port = withUnsafePointer(to: name) { name in
            name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { Int(in_port_t(bigEndian: $0.pointee.sin_port)) }
        }
        return .success((descriptor, port))
    }
}

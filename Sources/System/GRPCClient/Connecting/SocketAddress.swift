import Glibc

/// An address that a socket can be connected to.
struct SocketAddress: Sendable {
    private let family: Int32
    private var storage = sockaddr_storage()
    private let size: socklen_t

    /// The maximum number of addresses of a name that are tried.
    private static let limit = 16

    /// Looks up the addresses of a server. May block for as long as the system's resolver does.
    ///
    /// - Parameter isNumeric: Whether to accept numeric addresses only, which never blocks.
    /// - Returns: The addresses, best first, or the resolver's message if there is none.
    static func addresses(of endpoint: Endpoint, isNumeric: Bool) -> Result<[SocketAddress], LookupFailure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard code == 0, let list else { return .failure(LookupFailure(reason: String(cString: gai_strerror(code)))) }
        let addresses = sequence(first: list, next: \.pointee.ai_next).prefix(limit).compactMap { Self($0.pointee) }
        return addresses.isEmpty ? .failure(LookupFailure(reason: "no address")) : .success(addresses)
    }

    struct LookupFailure: Error {
        let reason: String
    }

    private init?(_ info: addrinfo) {
        guard let name = info.ai_addr, Int(info.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size else { return nil }
        family = info.ai_family
        size = info.ai_addrlen
        memcpy(&storage, name, Int(size))
    }

    /// Starts to connect a new socket, which the caller closes.
    ///
    /// - Returns: The socket, which becomes writable when the attempt has ended; nil with `errno`
    ///   set if it failed at once.
    func connect() -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { return nil }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        var storage = storage
        let code = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) }
        }
        if code == 0 || errno == EINPROGRESS { return descriptor }
        let number = errno
        close(descriptor)
        errno = number
        return nil
    }
}

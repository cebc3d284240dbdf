import Glibc
import HTTPMessages

/// A bound and listening stream socket. The owner closes it once, with `close`.
struct ListeningSocket: Sendable {
    let descriptor: Int32
    /// The address, with the actual port.
    let address: HTTPServerAddress
    /// The socket file that this process created, with the device and inode by which it is
    /// recognized.
    private var file: (path: String, device: UInt, inode: UInt)?

    /// Creates a socket that listens on the address.
    ///
    /// - Throws: `HTTPError` with the code `.cannotListen` and advice on what to do.
    init(_ address: HTTPServerAddress) throws {
        switch address {
        case .tcp(let host, let port): self = try Self.tcp(host, port)
        case .unix(let path): self = try Self.unix(path)
        case .descriptor(let number):
            var accepts: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0, accepts != 0 else {
                throw HTTPError(.cannotListen, "Descriptor \(number) is not a listening socket.")
            }
            self.init(descriptor: number, address: Self.name(of: number) ?? address)
        }
    }

    private init(descriptor: Int32, address: HTTPServerAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    /// Closes the socket, and removes the socket file if it is still the one that this process
    /// created.
    func close() {
        if let file {
            var info = stat()
            if lstat(file.path, &info) == 0, UInt(info.st_dev) == file.device, UInt(info.st_ino) == file.inode {
                unlink(file.path)
            }
        }
        _ = Glibc.close(descriptor)
    }

    private static func tcp(_ host: String, _ port: Int) throws -> ListeningSocket {
        guard (0...65535).contains(port) else {
            throw HTTPError(.cannotListen, "\(port) is not a port; choose one from 0 to 65535.")
        }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
        defer { freeaddrinfo(list) }
        guard code == 0, let info = list?.pointee else {
            throw HTTPError(.cannotListen, "Cannot listen on \(host): \(String(cString: gai_strerror(code))).")
        }
        let descriptor = socket(info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure(.tcp(host: host, port: port), errno) }
        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        // Connections inherit these options. A client that vanishes while its handler works is
        // detected after two minutes.
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 6)
        guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, listen(descriptor, SOMAXCONN) == 0 else {
            let code = errno
            _ = Glibc.close(descriptor)
            throw failure(.tcp(host: host, port: port), code)
        }
        guard case .tcp(_, let realPort) = name(of: descriptor) else {
            return ListeningSocket(descriptor: descriptor, address: .tcp(host: host, port: port))
        }
        return ListeningSocket(descriptor: descriptor, address: .tcp(host: host, port: realPort))
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func unix(_ path: String) throws -> ListeningSocket {
        guard let name = SocketName(path: path) else {
            throw HTTPError(.cannotListen, "The socket path \(path) is empty or longer than 107 bytes; choose another.")
        }
        try removeStaleFile(path, name)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure(.unix(path: path), errno) }
        var info = stat()
        // No client can connect before `listen`, so the mode holds for the first connection
        // already.
        guard name.with({ bind(descriptor, $0, $1) }) == 0, chmod(path, 0o600) == 0, lstat(path, &info) == 0,
            listen(descriptor, SOMAXCONN) == 0
        else {
            let code = errno
            _ = Glibc.close(descriptor)
            throw failure(.unix(path: path), code)
        }
        var result = ListeningSocket(descriptor: descriptor, address: .unix(path: path))
        result.file = (path, UInt(info.st_dev), UInt(info.st_ino))
        return result
    }

    private static func removeStaleFile(_ path: String, _ name: SocketName) throws {
        var info = stat()
        guard lstat(path, &info) == 0 else { return }
        guard info.st_mode & S_IFMT == S_IFSOCK else {
            throw HTTPError(.cannotListen, "\(path) is not a socket. Move it away, or choose another socket path.")
        }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { throw failure(.unix(path: path), errno) }
        defer { _ = Glibc.close(probe) }
        let connected = name.with { connect(probe, $0, $1) }
        // A full backlog (EAGAIN) or a refusal by mode (EACCES) also means that a server may be
        // listening there.
        guard connected != 0, errno == ECONNREFUSED || errno == ENOENT else {
            throw failure(.unix(path: path), EADDRINUSE)
        }
        unlink(path)
    }

    private static func failure(_ address: HTTPServerAddress, _ code: Int32) -> HTTPError {
        let why: String
        switch (address, code) {
        case (.tcp(_, let port), EADDRINUSE):
            why =
                "port \(port) is in use. Stop the program that holds it (`ss -ltnp 'sport = :\(port)'` names it), "
                + "or choose another port; 0 selects a free one"
        case (.unix, EADDRINUSE): why = "a running program answers on it. Stop that one, or choose another path"
        case (.tcp, EACCES): why = "ports below 1024 need root or CAP_NET_BIND_SERVICE. Choose a higher one"
        case (.unix, ENOENT): why = "its directory does not exist. Create it, or choose another path"
        case (.tcp, EADDRNOTAVAIL): why = "the address is not one of this machine. Use 127.0.0.1, or 0.0.0.0 for all"
        default: why = errorText(code)
        }
        return HTTPError(.cannotListen, "Cannot listen on \(address): \(why).")
    }

    private static func name(of descriptor: Int32) -> HTTPServerAddress? {
        SocketName(of: descriptor, getsockname)?.address
    }
}

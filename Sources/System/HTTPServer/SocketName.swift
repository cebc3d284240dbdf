import Glibc
import HTTPMessages
import SystemIO

/// A socket address of any family.
struct SocketName {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    /// Creates the address of a Unix socket; nil if the path does not fit `sun_path`.
    init?(path: String) {
        let bytes = Array(path.utf8)
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        guard !bytes.isEmpty, bytes.count < MemoryLayout<sockaddr_un>.size - offset, !bytes.contains(0) else {
            return nil
        }
        storage.ss_family = sa_family_t(AF_UNIX)
        length = socklen_t(offset + bytes.count + 1)
        withUnsafeMutableBytes(of: &storage) {
            UnsafeMutableRawBufferPointer(rebasing: $0[offset...]).copyBytes(from: bytes)
        }
    }

    /// Creates the address that `getsockname` or `getpeername` returns for a descriptor.
    init?(
        of descriptor: Int32,
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.baseAddress.map { ask(descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) } ?? -1
        }
        guard code == 0 else { return nil }
        self.length = length
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    var address: HTTPServerAddress? {
        switch Int32(storage.ss_family) {
        case AF_UNIX:
            let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
            let path = withUnsafeBytes(of: storage) { bytes in
                String(decoding: bytes[offset..<max(offset, Int(length))].prefix { $0 != 0 }, as: UTF8.self)
            }
            return .unix(path: path)
        case AF_INET, AF_INET6:
            var host = [CChar](repeating: 0, count: 64)
            var port = [CChar](repeating: 0, count: 8)
            let code = with {
                getnameinfo(
                    $0, $1, &host, socklen_t(host.count), &port, socklen_t(port.count),
                    NI_NUMERICHOST | NI_NUMERICSERV)
            }
            guard code == 0, let number = Int(text(port)) else { return nil }
            return .tcp(host: text(host), port: number)
        default: return nil
        }
    }

    var isLocal: Bool { Int32(storage.ss_family) == AF_UNIX }

    /// Creates a copy of an address that the system returned.
    init?(_ address: UnsafePointer<sockaddr>?, _ length: socklen_t) {
        guard let address, length <= socklen_t(MemoryLayout<sockaddr_storage>.size) else { return nil }
        self.length = length
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(length)))
        }
    }

    /// The address and port of an Internet socket; nil for other families.
    var client: TrustedProxies.Client? {
        guard case .tcp(let host, let port)? = address, let ip = IPAddress(host) else { return nil }
        return TrustedProxies.Client(address: ip, port: UInt16(clamping: port))
    }

    private func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

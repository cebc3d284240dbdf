import GRPCProtocol
import Glibc
import SystemIO

/// The other end of a connection, or the client of a call.
struct GRPCPeer: Sendable, Hashable {
    /// The address and port, or nil if the system does not report them.
    let client: TrustedProxies.Client?

    /// The address in gRPC's form: `ipv4:127.0.0.1:50123`, `ipv6:[::1]:50123`.
    var description: String {
        guard let client else { return "unknown" }
        return "\(client.address.isIPv4 ? "ipv4" : "ipv6"):\(client.address.description(withPort: client.port ?? 0))"
    }

    init(_ client: TrustedProxies.Client?) { self.client = client }

    init(_ name: sockaddr_storage, _ size: socklen_t) {
        var host = [CChar](repeating: 0, count: 64)
        var port = [CChar](repeating: 0, count: 8)
        let code = withUnsafePointer(to: name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getnameinfo(
                    $0, size, &host, socklen_t(host.count), &port, socklen_t(port.count),
                    NI_NUMERICHOST | NI_NUMERICSERV)
            }
        }
        guard code == 0, let address = IPAddress(Self.string(host)) else {
            client = nil
            return
        }
        client = TrustedProxies.Client(address: address, port: UInt16(Self.string(port)))
    }

    /// Returns the client of a call with this metadata.
    func client(of metadata: GRPCMetadata, _ proxies: TrustedProxies) -> GRPCPeer {
        guard !proxies.networks.isEmpty, let client else { return self }
        return GRPCPeer(
            proxies.client(
                of: client, forwardedFor: metadata.values("x-forwarded-for"), forwarded: metadata.values("forwarded")))
    }

    private static func string(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

import SystemIO

/// The host and port of a server.
struct Endpoint: Hashable, Sendable {
    /// A name or an address; an IPv6 address has no brackets.
    let host: String
    let port: UInt16

    private static let standardPort: UInt16 = 443

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port` or `[v6 address]:port`. Without a port, the port is that of HTTPS.
    ///
    /// Returns nil if the port is not valid, or the host is missing.
    init?(_ target: String) {
        var host = target[...]
        var port: Substring?
        if target.hasPrefix("["), let end = target.firstIndex(of: "]") {
            host = target[..<end].dropFirst()
            let rest = target[end...].dropFirst()
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if target.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1, let colon = target.firstIndex(of: ":") {
            host = target[..<colon]
            port = target[colon...].dropFirst()
        }
        let isName = !host.isEmpty && !host.utf8.contains { $0 <= 0x20 || $0 == 0x7f || $0 == UInt8(ascii: ":") }
        guard isName && !target.hasPrefix("[") || host.contains(":") && IPAddress(host) != nil,
            let number = port.map({ UInt16($0) }) ?? Self.standardPort
        else { return nil }
        self.init(host: String(host), port: number)
    }

    /// The host and port in the form of a URL's authority.
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the server is on this machine.
    var isLocal: Bool { host == "localhost" || host.hasPrefix("127.") || host == "::1" }
}

/// The part of a caller's address to which limits apply.
///
/// A customer of an Internet provider usually has an IPv6 network of 64 bits, so only the first
/// half of such an address counts.
package struct NetworkAddress: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// Creates the part of an address that counts.
    ///
    /// - Parameter peer: `host:port`, or a host alone; an IPv6 host may be in brackets.
    package init(peer: String) {
        var host = peer[...]
        if let colon = host.lastIndex(of: ":"), host.hasPrefix("[") || host[..<colon].firstIndex(of: ":") == nil {
            if !host.hasSuffix("]") { host = host[..<colon] }
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        description = Self.network(of: String(host.prefix { $0 != "%" }).lowercased())
    }

    /// Whether the caller is on this machine.
    package var isLoopback: Bool { description.hasPrefix("127.") || description == "::1" || description == "local" }

    private static func network(of host: String) -> String {
        guard host.contains(":") else { return host }
        if host.hasPrefix("::ffff:"), host.contains(".") { return String(host.dropFirst(7)) }
        guard host != "::1", let groups = groups(of: host) else { return host }
        return groups.prefix(4).map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }

    /// Returns the eight groups of an IPv6 address; nil for other texts.
    private static func groups(of host: String) -> [UInt16]? {
        let halves = host.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves.map { half in
            half.split(separator: ":").map { UInt16($0, radix: 16) }
        }
        guard !parts.joined().contains(nil) else { return nil }
        let known = parts.map { $0.compactMap(\.self) }
        let count = known.reduce(0) { $0 + $1.count }
        guard known.count == 2 ? count < 8 : count == 8 else { return nil }
        return known[0] + [UInt16](repeating: 0, count: 8 - count) + (known.count == 2 ? known[1] : [])
    }
}

import Glibc

/// An IPv4 or IPv6 address without a port.
///
/// An IPv4 address that an IPv6 socket reports as `::ffff:192.0.2.1` is the IPv4 address.
package struct IPAddress: Hashable, Sendable {
    /// Whether it is an IPv4 address.
    package let isIPv4: Bool
    /// The address as a number; an IPv4 address is in the lower 32 bits.
    let number: UInt128

    private static let mappedPrefix: UInt128 = 0xFFFF_0000_0000

    private init(isIPv4: Bool, number: UInt128) {
        self.isIPv4 = isIPv4
        self.number = number
    }

    /// Creates an address from a literal that inet_pton(3) accepts. The zone of a link-local
    /// address (`%eth0`) is dropped.
    ///
    /// Returns nil for anything else, including an address with brackets or a port.
    package init?(_ text: some StringProtocol) {
        var text = String(text)
        guard text.utf8.count <= 64, !text.utf8.contains(0) else { return nil }
        if let zone = text.firstIndex(of: "%"), text.contains(":") { text = String(text[..<zone]) }
        var bytes: (UInt64, UInt64) = (0, 0)
        if text.contains(":") {
            guard inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
            let number = UInt128(UInt64(bigEndian: bytes.0)) << 64 | UInt128(UInt64(bigEndian: bytes.1))
            let isMapped = number >> 32 == Self.mappedPrefix >> 32
            self.init(isIPv4: isMapped, number: isMapped ? number & 0xFFFF_FFFF : number)
        } else {
            var word: UInt32 = 0
            guard inet_pton(AF_INET, text, &word) == 1 else { return nil }
            self.init(isIPv4: true, number: UInt128(UInt32(bigEndian: word)))
        }
    }

    /// Returns the address with all but the first `length` bits cleared.
    func prefix(_ length: Int) -> IPAddress {
        let width = isIPv4 ? 32 : 128
        let cleared = max(0, width - max(0, length))
        return IPAddress(isIPv4: isIPv4, number: cleared >= 128 ? 0 : (number >> cleared) << cleared)
    }

    /// The part of the address that usually identifies one customer of a network: an IPv4 address,
    /// or the first 64 bits of an IPv6 address.
    ///
    /// Limits count by site, because a host in an IPv6 network can use 2^64 addresses.
    package var site: IPAddress { isIPv4 ? self : prefix(64) }

    /// Whether only this machine has the address.
    package var isLoopback: Bool { isIPv4 ? number >> 24 == 127 : number == 1 }

    /// Returns the address with a port, as in a URL: `192.0.2.1:80`, `[2001:db8::1]:80`.
    package func description(withPort port: UInt16) -> String {
        isIPv4 ? "\(self):\(port)" : "[\(self)]:\(port)"
    }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isIPv4 {
            var word = UInt32(truncatingIfNeeded: number).bigEndian
            inet_ntop(AF_INET, &word, &text, socklen_t(text.count))
        } else {
            var bytes = (
                UInt64(truncatingIfNeeded: number >> 64).bigEndian, UInt64(truncatingIfNeeded: number).bigEndian
            )
            inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A range of addresses in CIDR notation: `10.0.0.0/8`, `2001:db8::/32`, or a single address.
package struct IPNetwork: Hashable, Sendable {
    private let start: IPAddress
    private let length: Int

    /// Creates a network from an address with an optional prefix length. Bits after the prefix are
    /// ignored.
    ///
    /// Returns nil for anything else, including a prefix length that the address family does not
    /// have.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        // Refuses `::ffff:10.0.0.0/104`: it means an IPv4 network, whose prefix length would be a
        // different number.
        guard address.isIPv4 == !first.contains(":") || parts.count == 1 else { return nil }
        let width = address.isIPv4 ? 32 : 128
        var length = width
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(parts[1]), number <= width
            else { return nil }
            length = number
        }
        start = address.prefix(length)
        self.length = length
    }

    /// Whether an address is in this network.
    package func contains(_ address: IPAddress) -> Bool {
        address.isIPv4 == start.isIPv4 && address.prefix(length) == start
    }
}

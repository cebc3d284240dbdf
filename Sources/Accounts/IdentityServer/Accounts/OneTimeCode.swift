import Cryptography

/// A secret that an administrator hands to a user: an invitation, or leave to set a password.
///
/// Four groups of five letters and digits, 100 random bits, none of which are easily mistaken. At
/// rest there is only a hash, and since the bits are random that needs no stretching.
enum OneTimeCode {
    private static let alphabet = Array("23456789abcdefghjkmnpqrstuvwxyz".utf8) + [UInt8(ascii: "0")]

    static func make() -> String {
        let letters = RandomBytes.make(20).map { alphabet[Int($0 & 31)] }
        return (0..<4).map { String(decoding: letters[$0 * 5..<$0 * 5 + 5], as: UTF8.self) }.joined(separator: "-")
    }

    /// The hash that is kept. Hyphens, spaces and the case of letters do not matter.
    static func digest(_ code: String) -> [UInt8] {
        let letters = code.lowercased().utf8.filter { $0 > 0x20 && $0 != UInt8(ascii: "-") }
        return SHA256.hash(Array("ferry code\n".utf8) + letters.prefix(256)).bytes
    }
}

import Cryptography

/// A secret that an administrator gives to a user: an invitation, or the permission to set a
/// password.
///
/// It has four groups of five letters and digits, 100 random bits, without characters that are
/// easily confused. Only a hash is stored. Because the bits are random, the hash needs no
/// stretching.
enum OneTimeCode {
    private static let alphabet = Array("23456789abcdefghjkmnpqrstuvwxyz".utf8) + [UInt8(ascii: "0")]

    static func make() -> String {
        let letters = RandomBytes.make(20).map { alphabet[Int($0 & 31)] }
        return (0..<4).map { String(decoding: letters[$0 * 5..<$0 * 5 + 5], as: UTF8.self) }.joined(separator: "-")
    }

    /// Returns the hash to store. Hyphens, spaces and the case of letters are ignored.
    static func digest(_ code: String) -> [UInt8] {
        let letters = code.lowercased().utf8.filter { $0 > 0x20 && $0 != UInt8(ascii: "-") }
        return SHA256.hash(Array("ferry code\n".utf8) + letters.prefix(256)).bytes
    }
}

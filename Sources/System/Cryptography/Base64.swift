/// Base64 and its variant for URLs and file names (RFC 4648, sections 4 and 5).
package enum Base64 {
    package enum Alphabet: Sendable {
        /// `+` and `/`, padded with `=`.
        case standard
        /// `-` and `_`, without padding, as in JSON Web Tokens (RFC 7515).
        case url

        fileprivate var digits: [UInt8] {
            switch self {
            case .standard: Base64.standardDigits
            case .url: Base64.urlDigits
            }
        }
    }

    private static let common = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let standardDigits = common + Array("+/".utf8)
    private static let urlDigits = common + Array("-_".utf8)
    private static let standardValues = values(of: standardDigits)
    private static let urlValues = values(of: urlDigits)
    private static let padding = UInt8(ascii: "=")
    private static let notADigit: UInt8 = 0xFF

    package static func encode(_ bytes: [UInt8], alphabet: Alphabet = .standard) -> String {
        let digits = alphabet.digits
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let first = UInt32(bytes[index]) << 16
            let second = left > 1 ? UInt32(bytes[index + 1]) << 8 : 0
            let third = left > 2 ? UInt32(bytes[index + 2]) : 0
            let group = first | second | third
            text.append(digits[Int(group >> 18)])
            text.append(digits[Int(group >> 12 & 63)])
            if left > 1 { text.append(digits[Int(group >> 6 & 63)]) }
            if left > 2 { text.append(digits[Int(group & 63)]) }
            if alphabet == .standard, left < 3 {
                for _ in left..<3 { text.append(padding) }
            }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the decoded bytes; nil if the text is not valid.
    ///
    /// Strict: refuses digits of the other alphabet, white space, a wrong length, nonzero trailing
    /// bits, and missing padding in `.standard`. In `.url` padding is optional.
    package static func decode(_ text: some StringProtocol, alphabet: Alphabet = .standard) -> [UInt8]? {
        var encoded = Array(text.utf8)
        if alphabet == .standard || encoded.last == padding {
            guard encoded.count.isMultiple(of: 4) else { return nil }
        }
        var dropped = 0
        while dropped < 2, encoded.last == padding {
            encoded.removeLast()
            dropped += 1
        }
        guard encoded.count % 4 != 1 else { return nil }
        let values = alphabet == .standard ? standardValues : urlValues
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for digit in encoded {
            let value = values[Int(digit)]
            guard value != notADigit else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= (1 << count) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }

    private static func values(of digits: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: notADigit, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }
}

/// The meaning of a plain scalar in the core schema of YAML 1.2, in which `yes`, `12:30` and dates,
/// typed by YAML 1.1, are strings.
package enum YAMLCoreValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A floating-point number, or an integer that does not fit in 64 bits.
    case double(Double)
    case string

    /// Creates the meaning of `text` written without quotes.
    package init(plain text: String) {
        switch text {
        case "", "~", "null", "Null", "NULL": self = .null
        case "true", "True", "TRUE": self = .boolean(true)
        case "false", "False", "FALSE": self = .boolean(false)
        default: self = Self.number(text) ?? .string
        }
    }

    private static func number(_ text: String) -> YAMLCoreValue? {
        var digits = text.utf8[...]
        guard let first = digits.first, isNumberStart(first) else { return nil }
        if text.hasPrefix("0x") { return based(text.dropFirst(2), 16) }
        if text.hasPrefix("0o") { return based(text.dropFirst(2), 8) }
        let isNegative = first == UInt8(ascii: "-")
        if isNegative || first == UInt8(ascii: "+") { digits.removeFirst() }
        switch Substring(digits) {
        case ".inf", ".Inf", ".INF": return .double(isNegative ? -.infinity : .infinity)
        case ".nan", ".NaN", ".NAN": return digits.count == text.utf8.count ? .double(.nan) : nil
        default: break
        }
        let whole = digits.prefix(while: isDigit)
        var rest = digits[whole.endIndex...]
        if rest.isEmpty { return Int64(text).map { .integer($0) } ?? Double(text).map { .double($0) } }
        var fractionDigits = 0
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            let fraction = rest.prefix(while: isDigit)
            fractionDigits = fraction.count
            rest = rest[fraction.endIndex...]
        }
        guard whole.count + fractionDigits > 0 else { return nil }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            let exponent = rest.prefix(while: isDigit)
            guard !exponent.isEmpty else { return nil }
            rest = rest[exponent.endIndex...]
        }
        guard rest.isEmpty else { return nil }
        // strtod accepts "1." and ".5" too. A text that it refuses stays a string.
        return Double(text).map { .double($0) }
    }

    private static func based(_ digits: Substring, _ radix: Int) -> YAMLCoreValue? {
        guard let first = digits.utf8.first, first != UInt8(ascii: "-"), first != UInt8(ascii: "+") else { return nil }
        return Int64(digits, radix: radix).map { .integer($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func isNumberStart(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
    }
}

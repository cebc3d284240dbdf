/// Writes strings as YAML scalars on one line. They are parsed as the same strings.
package struct YAMLScalarWriter: Sendable {
    /// The position of the scalar in the text.
    package enum Place: Sendable {
        case block
        /// A value inside brackets or braces.
        case flow
        case key
    }

    /// The parsers that must read the scalar as a string.
    package enum Readers: Sendable {
        /// Parsers that follow the core schema of YAML 1.2: `no`, `12:30` and dates are written
        /// without quotes.
        case coreSchema
        /// All parsers: scalars to which YAML 1.1 gives another type are quoted too.
        case all
    }

    package var place: Place
    package var readers: Readers

    package init(_ place: Place = .block, readers: Readers = .all) {
        self.place = place
        self.readers = readers
    }

    /// Returns `text` as a plain scalar if that is safe, otherwise in double quotes.
    package func write(_ text: String) -> String {
        isPlainSafe(text) ? text : Self.doubleQuoted(text)
    }

    /// Returns `text` in `style` if that style can represent it. Literal and folded styles are not
    /// preserved.
    package func write(_ text: String, like style: YAMLScalar.Style) -> String {
        switch style {
        case .plain, .literal, .folded: write(text)
        case .doubleQuoted: Self.doubleQuoted(text)
        case .singleQuoted: Self.singleQuoted(text) ?? Self.doubleQuoted(text)
        }
    }

    /// Whether `text` can be written without quotes.
    package func isPlainSafe(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard let first = utf8.first, let last = utf8.last else { return false }
        guard last != UInt8(ascii: " "), last != UInt8(ascii: ":"), isSafeStart(first, utf8.dropFirst().first) else {
            return false
        }
        if text.hasPrefix("---") || text.hasPrefix("...") { return false }
        var previous = first
        for scalar in text.unicodeScalars {
            guard Self.isPrintable(scalar) else { return false }
            guard scalar.isASCII else {
                previous = 0x80
                continue
            }
            let byte = UInt8(truncatingIfNeeded: scalar.value)
            switch byte {
            case UInt8(ascii: " ") where previous == UInt8(ascii: ":"): return false
            case UInt8(ascii: "#") where previous == UInt8(ascii: " "): return false
            case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"),
                UInt8(ascii: "?"):
                if place == .flow { return false }
            default: break
            }
            previous = byte
        }
        guard case .string = YAMLCoreValue(plain: text) else { return false }
        return readers == .coreSchema || !Self.isTypedByYAML11(text)
    }

    private func isSafeStart(_ first: UInt8, _ second: UInt8?) -> Bool {
        switch first {
        case UInt8(ascii: "-"): second.map { $0 != UInt8(ascii: " ") } ?? false
        case UInt8(ascii: "?"), UInt8(ascii: ":"):
            readers == .coreSchema && place == .block && (second.map { $0 != UInt8(ascii: " ") } ?? false)
        case UInt8(ascii: " "), UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"),
            UInt8(ascii: "}"), UInt8(ascii: "#"), UInt8(ascii: "&"), UInt8(ascii: "*"), UInt8(ascii: "!"),
            UInt8(ascii: "|"), UInt8(ascii: ">"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "%"),
            UInt8(ascii: "@"), UInt8(ascii: "`"):
            false
        default: true
        }
    }

    /// Whether YAML 1.1 may read the text as a Boolean, number, date or time.
    private static func isTypedByYAML11(_ text: String) -> Bool {
        switch text.lowercased() {
        case "y", "n", "yes", "no", "on", "off", "=", "<<": return true
        default: break
        }
        guard let first = text.utf8.first,
            first &- UInt8(ascii: "0") < 10 || first == UInt8(ascii: "-") || first == UInt8(ascii: "+")
                || first == UInt8(ascii: ".")
        else { return false }
        return text.utf8.allSatisfy { byte in
            byte &- UInt8(ascii: "0") < 10 || (byte | 0x20) &- UInt8(ascii: "a") < 6
                || "+-._: tTxXoOzZ".utf8.contains(byte)
        }
    }

    /// Whether a character may be unescaped in a scalar on one line. Line breaks, tabs, control
    /// characters and byte-order marks may not.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD: true
        case 0x10000...0x10FFFF: true
        default: false
        }
    }

    /// Returns the text in single quotes; nil if these cannot represent it on one line.
    package static func singleQuoted(_ text: String) -> String? {
        guard text.unicodeScalars.allSatisfy(isPrintable) else { return nil }
        var result = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { result.unicodeScalars.append("'") }
            result.unicodeScalars.append(scalar)
        }
        return result + "'"
    }

    package static func doubleQuoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isPrintable(scalar): result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                let width = scalar.value < 0x100 ? 2 : scalar.value < 0x10000 ? 4 : 8
                result += width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U"
                result += String(repeating: "0", count: width - digits.count) + digits
            }
        }
        return result + "\""
    }
}

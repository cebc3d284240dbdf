/// Writes strings as YAML scalars on one line that read back as the same strings.
package struct YAMLScalarWriter: Sendable {
    /// Where the scalar will stand.
    package enum Place: Sendable {
        case block
        /// Inside brackets or braces.
        case flow
        case key
    }

    /// Which readers must see a string.
    package enum Readers: Sendable {
        /// Those that follow YAML 1.2's core schema: `no`, `12:30` and dates stay without quotes.
        case coreSchema
        /// Any: also what YAML 1.1 takes for something else is quoted.
        case all
    }

    package var place: Place
    package var readers: Readers

    package init(_ place: Place = .block, readers: Readers = .all) {
        self.place = place
        self.readers = readers
    }

    /// `text` as a plain scalar where that is safe, else in double quotes.
    package func write(_ text: String) -> String {
        isPlainSafe(text) ? text : Self.doubleQuoted(text)
    }

    /// As `write`, but in `style` where that can carry the text; literal and folded styles are not kept.
    package func write(_ text: String, like style: YAMLScalar.Style) -> String {
        switch style {
        case .plain, .literal, .folded: write(text)
        case .doubleQuoted: Self.doubleQuoted(text)
        case .singleQuoted: Self.singleQuoted(text) ?? Self.doubleQuoted(text)
        }
    }

    /// Whether `text` can stand without quotes.
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

    /// YAML 1.1's booleans, and all that looks like one of its numbers, dates or times.
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

    /// What may stand unescaped in a scalar on one line: no line breaks, tabs, controls, byte-order marks.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD: true
        case 0x10000...0x10FFFF: true
        default: false
        }
    }

    /// nil where single quotes cannot carry the text on one line.
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

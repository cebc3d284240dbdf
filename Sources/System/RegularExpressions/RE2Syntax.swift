/// Finds what PCRE2 understands and RE2 does not.
enum RE2Syntax {
    /// The largest count in a repetition, as in RE2.
    static let repetitionLimit = 1000

    /// Checks a pattern.
    ///
    /// Other mistakes, such as a missing parenthesis, are left to the compiler.
    static func check(_ pattern: [UInt8]) throws(RegularExpressionError) {
        var rest = pattern[...]
        var inClass = false
        while let byte = rest.popFirst() {
            let offset = rest.startIndex - 1
            switch byte {
            case UInt8(ascii: "\\"): try checkEscape(&rest, at: offset)
            case UInt8(ascii: "["): inClass = true
            case UInt8(ascii: "]"): inClass = false
            case UInt8(ascii: "(") where !inClass: try checkGroup(rest, at: offset)
            case UInt8(ascii: "*") where !inClass, UInt8(ascii: "+") where !inClass, UInt8(ascii: "?") where !inClass:
                guard rest.first != UInt8(ascii: "+") else { throw unsupported("possessive quantifiers", at: offset) }
            case UInt8(ascii: "{") where !inClass: try checkRepetition(&rest, at: offset)
            default: break
            }
        }
    }

    private static func checkEscape(_ rest: inout ArraySlice<UInt8>, at offset: Int) throws(RegularExpressionError) {
        guard let escaped = rest.popFirst() else { return }
        switch escaped {
        case UInt8(ascii: "1")...UInt8(ascii: "9"): throw unsupported("backreferences", at: offset)
        case UInt8(ascii: "Q"):
            // Everything up to \E is literal.
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "E") { break }
            }
        case UInt8(ascii: "p"), UInt8(ascii: "P"), UInt8(ascii: "x"):
            if rest.first == UInt8(ascii: "{") { rest = rest.drop { $0 != UInt8(ascii: "}") }.dropFirst() }
        case _ where "aAbBdDEfnrsStvwWz0".utf8.contains(escaped): break
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            throw unsupported("\\" + String(UnicodeScalar(escaped)), at: offset)
        default: break
        }
    }

    /// Checks what follows an opening parenthesis.
    private static func checkGroup(_ rest: ArraySlice<UInt8>, at offset: Int) throws(RegularExpressionError) {
        guard rest.first != UInt8(ascii: "*") else { throw unsupported("verbs", at: offset) }
        guard rest.first == UInt8(ascii: "?") else { return }
        let kind = rest.dropFirst()
        if kind.starts(with: "P<".utf8) { return }
        let flags = kind.prefix { "imsU-".utf8.contains($0) }
        let end = kind.dropFirst(flags.count).first
        guard end == UInt8(ascii: ":") || end == UInt8(ascii: ")") && !flags.isEmpty else {
            throw unsupported("this kind of group", at: offset)
        }
    }

    /// Checks what follows an opening brace, and takes it if it is a repetition. Other braces are
    /// literal.
    private static func checkRepetition(
        _ rest: inout ArraySlice<UInt8>, at offset: Int
    ) throws(RegularExpressionError) {
        let counts = rest.prefix { "0123456789,".utf8.contains($0) }
        guard !counts.isEmpty, rest.dropFirst(counts.count).first == UInt8(ascii: "}") else { return }
        for count in counts.split(separator: UInt8(ascii: ",")) {
            guard let count = Int(String(decoding: count, as: UTF8.self)), count <= repetitionLimit else {
                throw RegularExpressionError("a repetition is at most \(repetitionLimit) times", offset: offset)
            }
        }
        rest = rest.dropFirst(counts.count + 1)
        guard rest.first != UInt8(ascii: "+") else { throw unsupported("possessive quantifiers", at: offset) }
    }

    private static func unsupported(_ what: String, at offset: Int) -> RegularExpressionError {
        RegularExpressionError("\(what) is not in the syntax of RE2", offset: offset)
    }
}

/// Reads characters, words and literals from the source of rules.
struct Scanner {
    private let source: [Unicode.Scalar]
    private var offset = 0
    private var line = 1
    private var lineStart = 0

    init(_ source: String) {
        self.source = Array(source.unicodeScalars)
    }

    /// The position of the next character.
    var position: SourcePosition { SourcePosition(line: line, column: offset - lineStart + 1) }

    var isAtEnd: Bool { offset >= source.count }

    /// The next character; nil at the end.
    var next: Unicode.Scalar? { peek(0) }

    /// The character at a distance after the next one; nil beyond the end.
    func peek(_ distance: Int) -> Unicode.Scalar? {
        offset + distance < source.count ? source[offset + distance] : nil
    }

    mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where offset < source.count {
            offset += 1
            guard source[offset - 1] == "\n" else { continue }
            line += 1
            lineStart = offset
        }
    }

    /// Skips spaces and comments.
    mutating func skipSpace() throws(RulesSyntaxError) {
        while let character = next {
            if character.properties.isWhitespace {
                advance()
            } else if character == "/", peek(1) == "/" {
                while let character = next, character != "\n" { advance() }
            } else if character == "/", peek(1) == "*" {
                let start = position
                advance(2)
                while !(next == "*" && peek(1) == "/") {
                    guard !isAtEnd else { throw RulesSyntaxError("This comment has no end.", at: start) }
                    advance()
                }
                advance(2)
            } else {
                return
            }
        }
    }

    /// Takes `text` if it comes next, after spaces.
    mutating func take(_ text: StaticString) throws(RulesSyntaxError) -> Bool {
        try skipSpace()
        guard starts(with: text) else { return false }
        advance(text.utf8CodeUnitCount)
        return true
    }

    /// Takes a word if it comes next, after spaces, and does not go on.
    mutating func takeWord(_ word: StaticString) throws(RulesSyntaxError) -> Bool {
        try skipSpace()
        guard starts(with: word), !(peek(word.utf8CodeUnitCount).map(Self.isInWord) ?? false) else { return false }
        advance(word.utf8CodeUnitCount)
        return true
    }

    /// Takes a name if one comes next, after spaces.
    mutating func takeName() throws(RulesSyntaxError) -> String? {
        try skipSpace()
        guard let first = next, Self.isInWord(first), !Self.isDigit(first) else { return nil }
        return takeCharacters(while: Self.isInWord)
    }

    mutating func takeCharacters(while condition: (Unicode.Scalar) -> Bool) -> String {
        var text = String.UnicodeScalarView()
        while let character = next, condition(character) {
            text.append(character)
            advance()
        }
        return String(text)
    }

    /// Takes a number, which comes next.
    mutating func takeNumber() throws(RulesSyntaxError) -> RuleValue {
        let start = position
        if next == "0", peek(1) == "x" || peek(1) == "X" {
            advance(2)
            let digits = takeCharacters(while: Self.isInWord)
            guard let number = Int64(digits, radix: 16) else {
                throw RulesSyntaxError("0x\(digits) is not a hexadecimal number of 64 bits.", at: start)
            }
            return .integer(number)
        }
        var text = takeCharacters(while: Self.isDigit)
        var isInteger = true
        if next == ".", peek(1).map(Self.isDigit) ?? false {
            isInteger = false
            advance()
            text += "." + takeCharacters(while: Self.isDigit)
        }
        if next == "e" || next == "E" {
            isInteger = false
            advance()
            text += "e"
            if let sign = next, sign == "-" || sign == "+" {
                text.unicodeScalars.append(sign)
                advance()
            }
            text += takeCharacters(while: Self.isDigit)
        }
        if isInteger {
            if let number = Int64(text) { return .integer(number) }
        } else if let number = Double(text) {
            return .float(number)
        }
        throw RulesSyntaxError("\(text) is not a number of 64 bits.", at: start)
    }

    /// Takes a string in single or double quotes, which comes next.
    mutating func takeString() throws(RulesSyntaxError) -> String {
        let start = position
        let quote = next
        advance()
        var text = String.UnicodeScalarView()
        while let character = next, character != quote {
            guard character != "\n" else { break }
            advance()
            guard character == "\\" else {
                text.append(character)
                continue
            }
            text.append(try takeEscape())
        }
        guard next == quote, quote != nil else {
            throw RulesSyntaxError("This string has no end on its line.", at: start)
        }
        advance()
        return String(text)
    }

    /// Takes what follows a backslash in a string.
    private mutating func takeEscape() throws(RulesSyntaxError) -> Unicode.Scalar {
        let start = position
        guard let character = next else { throw RulesSyntaxError("This string has no end on its line.", at: start) }
        advance()
        switch character {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "0": return "\0"
        case "\\", "'", "\"", "`", "?", "/": return character
        case "x": return try takeHexadecimal(digits: 2, from: start)
        case "u": return try takeHexadecimal(digits: 4, from: start)
        default:
            throw RulesSyntaxError(
                "\\\(character) is not an escape; a backslash in a regular expression is written \\\\.", at: start)
        }
    }

    private mutating func takeHexadecimal(
        digits: Int, from start: SourcePosition
    ) throws(RulesSyntaxError) -> Unicode.Scalar {
        var number: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = next.flatMap({ Character($0).hexDigitValue }) else {
                throw RulesSyntaxError("This escape needs \(digits) hexadecimal digits.", at: start)
            }
            number = number << 4 | UInt32(digit)
            advance()
        }
        guard let scalar = Unicode.Scalar(number) else {
            throw RulesSyntaxError("This escape is not a character of Unicode.", at: start)
        }
        return scalar
    }

    private func starts(with text: StaticString) -> Bool {
        var distance = 0
        return text.withUTF8Buffer { bytes in
            for byte in bytes {
                guard peek(distance) == Unicode.Scalar(byte) else { return false }
                distance += 1
            }
            return true
        }
    }

    static func isDigit(_ character: Unicode.Scalar) -> Bool { ("0"..."9").contains(character) }

    /// Whether a character may be in a name.
    static func isInWord(_ character: Unicode.Scalar) -> Bool {
        switch character {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: false
        }
    }
}

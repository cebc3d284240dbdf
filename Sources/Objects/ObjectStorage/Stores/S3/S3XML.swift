/// An element of an S3 response: its name, its text and its child elements. Attributes, comments
/// and processing instructions are skipped. Document types are rejected, because S3 does not use
/// them.
struct S3XML {
    /// The maximum depth. Responses nest three or four levels.
    private static let depthLimit = 16

    let name: String
    var text = ""
    var children: [S3XML] = []

    /// Parses a document; nil if it is not well-formed.
    init?(parsing bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var scanner = Scanner(text)
        guard scanner.skipProlog(), let root = scanner.element(depth: 0), scanner.skipProlog(), scanner.isAtEnd else {
            return nil
        }
        self = root
    }

    private init(name: String) { self.name = name }

    /// The text of the first child element with that name; nil if there is none.
    subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [S3XML] { children.filter { $0.name == name } }

    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = text[...].utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        /// Skips white space, comments and processing instructions.
        mutating func skipProlog() -> Bool {
            while true {
                skipSpace()
                if take("<?") {
                    guard skip(past: "?>") else { return false }
                } else if take("<!--") {
                    guard skip(past: "-->") else { return false }
                } else {
                    return true
                }
            }
        }

        mutating func element(depth: Int) -> S3XML? {
            guard depth < S3XML.depthLimit, take("<"), let name = name() else { return nil }
            var element = S3XML(name: name)
            guard let isEmpty = skipAttributes() else { return nil }
            if isEmpty { return element }
            var text: [UInt8] = []
            while let byte = rest.first {
                if byte == UInt8(ascii: "<") {
                    if take("</") {
                        guard self.name() == name else { return nil }
                        skipSpace()
                        guard take(">") else { return nil }
                        element.text = String(decoding: text, as: UTF8.self)
                        return element
                    }
                    if take("<!--") {
                        guard skip(past: "-->") else { return nil }
                    } else {
                        guard let child = self.element(depth: depth + 1) else { return nil }
                        element.children.append(child)
                    }
                } else if byte == UInt8(ascii: "&") {
                    guard let character = entity() else { return nil }
                    text += Array(String(character).utf8)
                } else {
                    text.append(byte)
                    rest.removeFirst()
                }
            }
            return nil
        }

        private mutating func name() -> String? {
            let name = rest.prefix { !" \t\r\n/>=<&".utf8.contains($0) }
            guard !name.isEmpty, name.first != UInt8(ascii: "!") else { return nil }
            rest = rest[name.endIndex...]
            return String(Substring(name))
        }

        /// Skips the attributes. Returns whether the element is closed at once; nil if it is
        /// malformed.
        private mutating func skipAttributes() -> Bool? {
            while true {
                skipSpace()
                if take("/>") { return true }
                if take(">") { return false }
                guard name() != nil else { return nil }
                skipSpace()
                guard take("=") else { return nil }
                skipSpace()
                guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
                    return nil
                }
                rest.removeFirst()
                guard let end = rest.firstIndex(of: quote) else { return nil }
                rest = rest[rest.index(after: end)...]
            }
        }

        private mutating func entity() -> Character? {
            guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else { return nil }
            let name = Substring(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
            switch name {
            case "amp": return "&"
            case "lt": return "<"
            case "gt": return ">"
            case "quot": return "\""
            case "apos": return "'"
            default:
                guard name.hasPrefix("#") else { return nil }
                let digits = name.dropFirst()
                let code = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
                return code.flatMap(Unicode.Scalar.init).map(Character.init)
            }
        }

        private mutating func skipSpace() {
            rest = rest.drop { " \t\r\n".utf8.contains($0) }
        }

        private mutating func take(_ token: String) -> Bool {
            guard rest.starts(with: token.utf8) else { return false }
            rest = rest.dropFirst(token.utf8.count)
            return true
        }

        private mutating func skip(past token: String) -> Bool {
            while !rest.isEmpty {
                if take(token) { return true }
                rest.removeFirst()
            }
            return false
        }
    }
}

/// An element of XML to be written.
struct XMLElement {
    let name: String
    private let content: Content
    /// With values that need no escapes.
    private let attributes: [String: String]

    private enum Content {
        case text(String)
        case children([XMLElement])
    }

    init(_ name: String, _ text: String) {
        self.name = name
        content = .text(text)
        attributes = [:]
    }

    init(_ name: String, _ children: [XMLElement], attributes: [String: String] = [:]) {
        self.name = name
        content = .children(children)
        self.attributes = attributes
    }

    /// A whole document.
    /// - Parameter namespace: of the root element; empty for none.
    func document(namespace: String = "http://s3.amazonaws.com/doc/2006-03-01/") -> [UInt8] {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        write(to: &text, namespace: namespace.isEmpty ? "" : " xmlns=\"\(namespace)\"")
        return Array(text.utf8)
    }

    private func write(to text: inout String, namespace: String = "") {
        text += "<\(name)\(namespace)"
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) { text += " \(name)=\"\(value)\"" }
        text += ">"
        switch content {
        case .text(let value): text += Self.escape(value)
        case .children(let children): for child in children { child.write(to: &text) }
        }
        text += "</\(name)>"
    }

    /// Characters that XML 1.0 cannot carry at all become U+FFFD; clients that may meet them ask for `encoding-type=url`.
    private static func escape(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\r": escaped += "&#13;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case "\0"..<" ", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Of what most keys are made of.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"): true
        default: false
        }
    }
}

/// An element of XML that was read: names without prefixes, text, children. Attributes, comments and processing instructions are
/// skipped; document types and entities other than the five of XML are refused, and so are nesting deeper than 16 and more elements
/// than the longest document has that S3 takes: 10,000 parts of an upload.
struct XMLTree {
    let name: String
    private(set) var text = ""
    private(set) var children: [XMLTree] = []

    private static let elementLimit = 100_000

    /// nil: not XML, or refused.
    init?(parsing bytes: [UInt8]) {
        guard let source = String(validating: bytes, as: UTF8.self) else { return nil }
        var rest = source[...]
        var left = Self.elementLimit
        guard let tree = Self.element(&rest, depth: 16, &left), Self.skipMisc(&rest), rest.isEmpty else { return nil }
        self = tree
    }

    private init(name: String) {
        self.name = name
    }

    /// The text of the first child of that name.
    subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    /// - Parameter left: Elements that may still come.
    private static func element(_ rest: inout Substring, depth: Int, _ left: inout Int) -> XMLTree? {
        guard depth > 0, left > 0, skipMisc(&rest), rest.first == "<" else { return nil }
        left -= 1
        rest.removeFirst()
        guard let close = rest.firstIndex(of: ">") else { return nil }
        var tag = rest[..<close]
        rest = rest[rest.index(after: close)...]
        let isEmpty = tag.last == "/"
        if isEmpty { tag.removeLast() }
        let qualified = tag.prefix { !$0.isWhitespace }
        guard let first = qualified.first, first.isLetter else { return nil }
        var tree = XMLTree(name: String(qualified.split(separator: ":").last ?? qualified))
        if isEmpty { return tree }
        while true {
            let upTo = rest.prefix { $0 != "<" }
            guard let text = unescape(upTo) else { return nil }
            tree.text += text
            rest = rest[upTo.endIndex...]
            if rest.hasPrefix("</") {
                guard let end = rest.firstIndex(of: ">"),
                    rest[..<end].dropFirst(2).prefix(while: { !$0.isWhitespace }) == qualified
                else { return nil }
                rest = rest[rest.index(after: end)...]
                return tree
            }
            if rest.hasPrefix("<!--") {
                guard skipMisc(&rest) else { return nil }
                continue
            }
            guard let child = element(&rest, depth: depth - 1, &left) else { return nil }
            tree.children.append(child)
        }
    }

    /// Skips white space, the declaration, comments and processing instructions.
    private static func skipMisc(_ rest: inout Substring) -> Bool {
        while true {
            rest = rest.drop { $0.isWhitespace }
            let end = rest.hasPrefix("<?") ? "?>" : rest.hasPrefix("<!--") ? "-->" : ""
            guard !end.isEmpty else { return true }
            guard let range = rest.firstRange(of: end) else { return false }
            rest = rest[range.upperBound...]
        }
    }

    private static func unescape(_ text: Substring) -> String? {
        guard text.contains("&") else { return String(text) }
        var result = ""
        var rest = text
        while let ampersand = rest.firstIndex(of: "&") {
            result += rest[..<ampersand]
            guard let semicolon = rest[ampersand...].firstIndex(of: ";") else { return nil }
            let name = rest[rest.index(after: ampersand)..<semicolon]
            switch name {
            case "amp": result += "&"
            case "lt": result += "<"
            case "gt": result += ">"
            case "quot": result += "\""
            case "apos": result += "'"
            default:
                let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
                guard name.hasPrefix("#"), let number, let scalar = Unicode.Scalar(number) else { return nil }
                result.unicodeScalars.append(scalar)
            }
            rest = rest[rest.index(after: semicolon)...]
        }
        return result + rest
    }
}

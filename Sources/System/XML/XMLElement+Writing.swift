extension XMLElement {
    /// Returns a document in UTF-8 with this element as its root.
    ///
    /// Characters that XML 1.0 cannot carry, such as most control characters, become U+FFFD.
    ///
    /// - Parameter namespace: The default namespace of the root; nil for none.
    package func document(namespace: String? = nil) -> [UInt8] {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        write(to: &text, namespace: namespace)
        return Array(text.utf8)
    }

    private func write(to output: inout String, namespace: String? = nil) {
        output += "<\(name)"
        if let namespace { Self.write("xmlns", namespace, to: &output) }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) { Self.write(name, value, to: &output) }
        output += ">"
        Self.append(text, to: &output)
        for child in children { child.write(to: &output) }
        output += "</\(name)>"
    }

    private static func write(_ attribute: String, _ value: String, to output: inout String) {
        output += " \(attribute)=\""
        append(value, to: &output, isAttribute: true)
        output += "\""
    }

    private static func append(_ text: String, to output: inout String, isAttribute: Bool = false) {
        if text.utf8.allSatisfy(isPlain) {
            output += text
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            // A reader would turn a carriage return into a line feed, and white space in attributes
            // into spaces.
            case "\r": output += "&#13;"
            case "\n" where isAttribute: output += "&#10;"
            case "\t" where isAttribute: output += "&#9;"
            case "\n", "\t": output.unicodeScalars.append(scalar)
            case "\0"..<" ", "\u{FFFE}", "\u{FFFF}": output += "\u{FFFD}"
            default: output.unicodeScalars.append(scalar)
            }
        }
    }

    /// Whether a byte is one of those that most keys consist of, which need no escape.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"): true
        default: false
        }
    }
}

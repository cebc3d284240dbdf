extension JSON {
    /// The JSON text in UTF-8, without white space, with the members in their order.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// The JSON text for people: one member or element a line, indented by two spaces.
    package var prettyBytes: [UInt8] {
        var writer = JSONWriter(isPretty: true)
        writer.write(self)
        return writer.bytes
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

private struct JSONWriter {
    var bytes: [UInt8] = []
    var isPretty = false
    var depth = 0

    mutating func write(_ value: JSON) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .boolean(let value): bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
        case .integer(let value): bytes.append(contentsOf: String(value).utf8)
        case .number(let value): write(value)
        case .string(let value): write(value)
        case .array(let values): list(values, open: "[", close: "]") { writer, value in writer.write(value) }
        case .object(let object):
            list(object.members, open: "{", close: "}") { writer, member in
                writer.write(member.key)
                writer.bytes.append(UInt8(ascii: ":"))
                if writer.isPretty { writer.bytes.append(UInt8(ascii: " ")) }
                writer.write(member.value)
            }
        }
    }

    private mutating func list<Element>(
        _ elements: [Element], open: Unicode.Scalar, close: Unicode.Scalar, each: (inout JSONWriter, Element) -> Void
    ) {
        bytes.append(UInt8(ascii: open))
        depth += 1
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            newLine()
            each(&self, element)
        }
        depth -= 1
        if !elements.isEmpty { newLine() }
        bytes.append(UInt8(ascii: close))
    }

    private mutating func newLine() {
        guard isPretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
    }

    /// Writes a number. JSON has no infinities and no NaN; they are written as null.
    private mutating func write(_ value: Double) {
        bytes.append(contentsOf: value.isFinite ? "\(value)".utf8 : "null".utf8)
    }

    private mutating func write(_ text: String) { bytes.append(json: text) }
}

extension [UInt8] {
    /// Appends a text as a quoted JSON string.
    ///
    /// Lets a caller write thousands of documents of one form without building a `JSON` for each.
    package mutating func append(json text: String) {
        var text = text
        append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            var start = 0
            for index in utf8.indices where Self.isEscaped(utf8[index]) {
                // Copying runs that need no escape makes long lists fast.
                append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                append(escaped: utf8[index])
                start = index + 1
            }
            append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F }

    private mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(UInt8(ascii: "\\"))
            append(byte)
        case 0x0A: append(contentsOf: #"\n"#.utf8)
        case 0x0D: append(contentsOf: #"\r"#.utf8)
        case 0x09: append(contentsOf: #"\t"#.utf8)
        default:
            let hex = String(byte, radix: 16)
            append(contentsOf: (#"\u00"# + (hex.utf8.count == 1 ? "0" : "") + hex).utf8)
        }
    }
}

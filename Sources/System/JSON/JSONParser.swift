/// A text that is not JSON, with the byte offset where it stops being so.
package struct JSONError: Error, Hashable, CustomStringConvertible {
    package let message: String
    package let offset: Int

    package var description: String { "not JSON: \(message) at byte \(offset)" }
}

extension JSON {
    /// Parses a whole text: one value, white space around it.
    ///
    /// Invalid UTF-8, lone surrogates, duplicate keys, more than `depth` nested values and trailing text are refused.
    package init(parsing bytes: [UInt8], depth: Int = 64) throws(JSONError) {
        var result: Result<JSON, JSONError> = .failure(JSONError(message: "empty", offset: 0))
        bytes.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(bytes: buffer, depthLeft: depth)
            do throws(JSONError) { result = .success(try parser.document()) } catch { result = .failure(error) }
        }
        self = try result.get()
    }

    package init(parsing text: String, depth: Int = 64) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depth: depth)
    }
}

/// Recursive descent over the bytes; every read is bounds-checked by `peek`.
private struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var depthLeft: Int
    var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>, depthLeft: Int) {
        self.bytes = bytes
        self.depthLeft = depthLeft
    }

    mutating func document() throws(JSONError) -> JSON {
        let value = try value()
        skipSpace()
        guard position == bytes.count else { throw error("text after the value") }
        return value
    }

    private func error(_ message: String) -> JSONError { JSONError(message: message, offset: position) }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value() throws(JSONError) -> JSON {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return try nested { (parser) throws(JSONError) in try parser.object() }
        case UInt8(ascii: "["): return try nested { (parser) throws(JSONError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("the text ends too early")
        case let byte? where byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
            return try number()
        default: throw error("a value cannot begin like this")
        }
    }

    private mutating func nested(_ body: (inout JSONParser) throws(JSONError) -> JSON) throws(JSONError) -> JSON {
        guard depthLeft > 0 else { throw error("nested too deeply") }
        depthLeft -= 1
        position += 1
        let value = try body(&self)
        depthLeft += 1
        return value
    }

    private mutating func object() throws(JSONError) -> JSON {
        var members: [(key: String, value: JSON)] = []
        members.reserveCapacity(8)
        var seen = Set<String>()
        skipSpace()
        if peek == UInt8(ascii: "}") {
            position += 1
            return .object(JSONObject())
        }
        while true {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw error("a key must be a string") }
            let key = try string()
            // Few members are searched, many are hashed.
            if members.count < 16 {
                guard !members.contains(where: { $0.key == key }) else { throw error("the key comes twice") }
            } else {
                if seen.isEmpty { seen = Set(members.map(\.key)) }
                guard seen.insert(key).inserted else { throw error("the key comes twice") }
            }
            skipSpace()
            guard peek == UInt8(ascii: ":") else { throw error("a colon must follow a key") }
            position += 1
            members.append((key, try value()))
            guard try another(closing: UInt8(ascii: "}")) else { return .object(JSONObject(unique: members)) }
        }
    }

    private mutating func array() throws(JSONError) -> JSON {
        var values: [JSON] = []
        skipSpace()
        if peek == UInt8(ascii: "]") {
            position += 1
            return .array([])
        }
        while true {
            values.append(try value())
            guard try another(closing: UInt8(ascii: "]")) else { return .array(values) }
        }
    }

    private mutating func another(closing: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        guard let byte = peek, byte == closing || byte == UInt8(ascii: ",") else { throw error("a comma is missing") }
        position += 1
        return byte != closing
    }

    private mutating func word(_ text: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count,
            UnsafeBufferPointer(start: text.utf8Start, count: count).elementsEqual(bytes[position..<position + count])
        else { throw error("a value cannot begin like this") }
        position += count
        return value
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = position
        if peek == UInt8(ascii: "-") { position += 1 }
        if peek == UInt8(ascii: "0") { position += 1 } else { try digits() }
        var isInteger = true
        if peek == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else { throw error("a number is out of range") }
        return .number(value)
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw error("a digit is missing") }
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        var text = try plainText()
        while let byte = peek {
            position += 1
            if byte == UInt8(ascii: "\"") { return text }
            try escape(into: &text)
            text += try plainText()
        }
        throw error("a string does not end")
    }

    /// What stands before the next quote or backslash.
    private mutating func plainText() throws(JSONError) -> String {
        let start = position
        var union: UInt8 = 0
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw error("a control character must be escaped") }
            union |= byte
            position += 1
        }
        let part = UnsafeBufferPointer(rebasing: bytes[start..<position])
        // Of ASCII there is nothing to validate, which is what makes long lists quick.
        if union < 0x80 { return String(decoding: part, as: UTF8.self) }
        guard let text = String(validating: part, as: UTF8.self) else { throw error("invalid UTF-8") }
        return text
    }

    private mutating func escape(into text: inout String) throws(JSONError) {
        guard let byte = peek else { throw error("a string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""): text.append("\"")
        case UInt8(ascii: "\\"): text.append("\\")
        case UInt8(ascii: "/"): text.append("/")
        case UInt8(ascii: "b"): text.append("\u{8}")
        case UInt8(ascii: "f"): text.append("\u{C}")
        case UInt8(ascii: "n"): text.append("\n")
        case UInt8(ascii: "r"): text.append("\r")
        case UInt8(ascii: "t"): text.append("\t")
        case UInt8(ascii: "u"): text.unicodeScalars.append(try unicodeEscape())
        default: throw error("unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let unit = try hexUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, peek == UInt8(ascii: "\\") else { throw error("a lone surrogate") }
        position += 1
        guard peek == UInt8(ascii: "u") else { throw error("a lone surrogate") }
        position += 1
        let low = try hexUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit - 0xD800) << 10) + UInt32(low - 0xDC00))
        else { throw error("a lone surrogate") }
        return scalar
    }

    private mutating func hexUnit() throws(JSONError) -> UInt16 {
        guard position + 4 <= bytes.count else { throw error("four hex digits are missing") }
        var unit: UInt16 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw error("not a hex digit") }
            unit = unit << 4 | UInt16(digit)
        }
        position += 4
        return unit
    }
}

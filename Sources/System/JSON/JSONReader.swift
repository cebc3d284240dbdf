/// A parse error: the text is not JSON from the byte at `offset` on.
package struct JSONError: Error, Hashable, CustomStringConvertible {
    package let message: String
    package let offset: Int

    package var description: String { "not JSON: \(message) at byte \(offset)" }
}

extension JSON {
    /// Creates a value by parsing a whole text: one value, with optional white space around it.
    ///
    /// Throws for invalid UTF-8, lone surrogates, duplicate keys, more than `depth` nested values
    /// and text after the value.
    package init(parsing bytes: [UInt8], depth: Int = 64) throws(JSONError) {
        self = try JSONReader.read(bytes, depth: depth) { (reader) throws(JSONError) in try reader.value() }
    }

    /// Creates a value by parsing a whole text, as `init(parsing:depth:)` does for its UTF-8.
    package init(parsing text: String, depth: Int = 64) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depth: depth)
    }
}

/// A recursive-descent parser over the bytes of a JSON text.
///
/// Callers that need no tree of a long text read it value by value.
package struct JSONReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var depthLeft: Int
    private var position = 0

    private init(bytes: UnsafeBufferPointer<UInt8>, depthLeft: Int) {
        self.bytes = bytes
        self.depthLeft = depthLeft
    }

    /// Parses a whole text, which holds the value that `body` reads and optional white space around
    /// it.
    ///
    /// The reader must not escape `body`. Refuses what `JSON(parsing:)` refuses, except duplicate
    /// keys of objects that are read with `members`.
    package static func read<Result>(
        _ bytes: [UInt8], depth: Int = 64, _ body: (inout JSONReader) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
            var reader = JSONReader(bytes: buffer, depthLeft: depth)
            let result = try body(&reader)
            reader.skipSpace()
            guard reader.position == buffer.count else { throw reader.error("text after the value") }
            return result
        }
    }

    private func error(_ message: String) -> JSONError { JSONError(message: message, offset: position) }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// Reads one value of any type.
    package mutating func value() throws(JSONError) -> JSON {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
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

    /// Reads an object. `each` is called with every key in order and must read the key's value.
    package mutating func members(
        _ each: (inout JSONReader, _ key: String) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard try opens("{", closing: "}", "an object was expected") else { return }
        repeat {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw error("a key must be a string") }
            let key = try string()
            skipSpace()
            guard peek == UInt8(ascii: ":") else { throw error("a colon must follow a key") }
            position += 1
            try each(&self, key)
        } while try another(closing: UInt8(ascii: "}"))
        depthLeft += 1
    }

    /// Reads an array. `each` must read one element per call.
    package mutating func elements(_ each: (inout JSONReader) throws(JSONError) -> Void) throws(JSONError) {
        guard try opens("[", closing: "]", "an array was expected") else { return }
        repeat { try each(&self) } while try another(closing: UInt8(ascii: "]"))
        depthLeft += 1
    }

    /// Consumes the opening bracket. Returns false if the closing bracket follows at once, which is
    /// then consumed too.
    private mutating func opens(
        _ opening: Unicode.Scalar, closing: Unicode.Scalar, _ expectation: String
    ) throws(JSONError) -> Bool {
        skipSpace()
        guard peek == UInt8(ascii: opening) else { throw error(expectation) }
        guard depthLeft > 0 else { throw error("nested too deeply") }
        position += 1
        skipSpace()
        if peek == UInt8(ascii: closing) {
            position += 1
            return false
        }
        depthLeft -= 1
        return true
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        var members: [(key: String, value: JSON)] = []
        members.reserveCapacity(8)
        var seen = Set<String>()
        try self.members { (reader, key) throws(JSONError) in
            // For a few members a linear search is faster than hashing.
            if members.count < 16 {
                guard !members.contains(where: { $0.key == key }) else { throw reader.error("the key comes twice") }
            } else {
                if seen.isEmpty { seen = Set(members.map(\.key)) }
                guard seen.insert(key).inserted else { throw reader.error("the key comes twice") }
            }
            members.append((key, try reader.value()))
        }
        return JSONObject(unique: members)
    }

    private mutating func array() throws(JSONError) -> [JSON] {
        var values: [JSON] = []
        try elements { (reader) throws(JSONError) in values.append(try reader.value()) }
        return values
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

    /// Reads the characters before the next quote or backslash.
    private mutating func plainText() throws(JSONError) -> String {
        let start = position
        var union: UInt8 = 0
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw error("a control character must be escaped") }
            union |= byte
            position += 1
        }
        let part = UnsafeBufferPointer(rebasing: bytes[start..<position])
        // ASCII is always valid UTF-8. Skipping its validation makes long lists fast.
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

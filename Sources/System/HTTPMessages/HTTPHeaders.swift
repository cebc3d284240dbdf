/// Header fields in the order in which they were sent or added. Names compare without regard to
/// ASCII case.
package struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    private var fields: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    package var startIndex: Int { fields.startIndex }
    package var endIndex: Int { fields.endIndex }
    package subscript(position: Int) -> Field { fields[position] }

    /// The first value of a name. Setting it replaces every field of the name; nil removes them.
    package subscript(name: String) -> String? {
        get { fields.first { Self.same($0.name, name) }?.value }
        set {
            fields.removeAll { Self.same($0.name, name) }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// Adds a field and keeps those with the same name.
    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    package func values(_ name: String) -> [String] {
        fields.filter { Self.same($0.name, name) }.map(\.value)
    }

    /// The number in `Content-Length`, or nil if the field is absent or not a plain number.
    package var contentLength: Int? {
        guard let text = self["Content-Length"], !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(text)
    }

    /// The reason why a request's host or the length of its body is ambiguous, as a message for its
    /// client; nil if neither is.
    ///
    /// If a server and a proxy in front of it disagree about where a request ends, one of them
    /// takes part of one request for another request (RFC 9112 sections 6.3 and 11.2).
    package var framingProblem: String? {
        // A proxy may ignore "Transfer-Encoding : chunked", with a space before the colon, that
        // this server would honor.
        if fields.contains(where: { $0.name.isEmpty || !$0.name.utf8.allSatisfy(Self.isToken) }) {
            return "A header field's name has characters that no name may have."
        }
        let lengths = values("Content-Length")
        let encodings = values("Transfer-Encoding")
        if values("Host").count > 1 { return "Host may be there once." }
        if lengths.count > 1 { return "Content-Length may be there once." }
        if encodings.count > 1 { return "Transfer-Encoding may be there once." }
        if let encoding = encodings.first {
            if !lengths.isEmpty { return "Content-Length and Transfer-Encoding exclude each other." }
            if !Self.same(encoding, "chunked") { return "The only Transfer-Encoding here is chunked." }
        } else if !lengths.isEmpty, contentLength == nil {
            return "Content-Length is not a number."
        }
        return nil
    }

    /// Whether every field can be sent unchanged: each name is a token (RFC 9110 section 5.6.2),
    /// and no value has control characters.
    ///
    /// An invalid field could smuggle in another field or another request.
    package var areValid: Bool {
        fields.allSatisfy { field in
            !field.name.isEmpty && field.name.utf8.allSatisfy(Self.isToken)
                && field.value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
        }
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func same(_ a: String, _ b: String) -> Bool {
        let a = a.utf8
        let b = b.utf8
        guard a.count == b.count else { return false }
        return zip(a, b).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}

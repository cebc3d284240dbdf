/// A media type (RFC 6838): `type/subtype`, without parameters, in lowercase.
public struct MIMEType: Hashable, Sendable, CustomStringConvertible {
    /// The part before the slash.
    public let type: String
    /// The part after the slash.
    public let subtype: String

    /// Parses `type/subtype` in the characters that RFC 6838 allows; nil for any other text.
    /// Parameters (`; charset=utf-8`) are dropped.
    public init?(_ text: some StringProtocol) {
        let essence = text.prefix { $0 != ";" }
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let names = parts.map { part in
            String(decoding: part.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }, as: UTF8.self)
                .lowercased()
        }
        guard names.allSatisfy(Self.isRestrictedName) else { return nil }
        (type, subtype) = (names[0], names[1])
    }

    /// Creates a type from names that are known to be valid.
    init(_ type: String, _ subtype: String) {
        self.type = type
        self.subtype = subtype
    }

    /// The form `type/subtype`.
    public var description: String { "\(type)/\(subtype)" }

    private static func isRestrictedName(_ name: String) -> Bool {
        guard (1...127).contains(name.utf8.count), let first = name.utf8.first else { return false }
        return isAlphanumeric(first) && name.utf8.allSatisfy { isAlphanumeric($0) || "!#$&-^_.+".utf8.contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The path of a field: one or more map keys from the outermost to the innermost.
///
/// In its text form, simple keys (`[a-zA-Z_][a-zA-Z_0-9]*`) are unquoted, and all others are in
/// backticks with the escapes `` \` `` and `\\`. Keys are joined by dots.
public struct FieldPath: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The keys. There is at least one, and none is empty.
    public let segments: [String]

    /// The pseudo-field that represents the document's name in queries and masks.
    public static let documentName = FieldPath(checked: ["__name__"])

    /// Whether this is the pseudo-field for the document's name.
    public var isDocumentName: Bool { segments == ["__name__"] }

    /// Creates a path from keys.
    ///
    /// - Throws: `NameError` if there is no key, or if one is empty.
    public init(_ segments: [String]) throws(NameError) {
        guard !segments.isEmpty, !segments.contains("") else { throw NameError("Invalid empty property path string.") }
        self.segments = segments
    }

    /// Creates a path of one top-level key, which is taken literally, including dots. An empty key
    /// makes a path that matches no field.
    public init(key: String) {
        segments = [key]
    }

    private init(checked segments: [String]) {
        self.segments = segments
    }

    /// Creates a path by parsing its text form.
    public init(parsing text: String) throws(NameError) {
        guard !text.isEmpty else { throw NameError("Invalid empty property path string.") }
        guard text.utf8.count <= 1500 else { throw NameError("property path is longer than 1500 bytes.") }
        var text = text
        guard let segments = text.withUTF8({ Self.segments(of: $0) }) else { throw Self.malformed(text) }
        self.segments = segments
    }

    /// The text form of the path.
    public var description: String { segments.map(Self.quoted).joined(separator: ".") }

    /// Orders paths key by key by their UTF-8 bytes.
    public static func < (left: FieldPath, right: FieldPath) -> Bool {
        for (a, b) in zip(left.segments, right.segments) {
            let order = UTF8Order.compare(a, b)
            if order != 0 { return order < 0 }
        }
        return left.segments.count < right.segments.count
    }

    /// Returns the path of a key in the map at this path.
    public func appending(_ key: String) -> FieldPath { FieldPath(checked: segments + [key]) }

    /// Whether this path is equal to `other` or contains it.
    public func isPrefix(of other: FieldPath) -> Bool { other.segments.starts(with: segments) }

    /// The prefixes of this path, the shortest first, including the path itself.
    package var prefixes: some Sequence<FieldPath> {
        segments.indices.lazy.map { FieldPath(checked: Array(segments[...$0])) }
    }

    /// Parses the text form; nil if it is not valid. All significant bytes are ASCII, so none of
    /// them is part of another character.
    private static func segments(of text: UnsafeBufferPointer<UInt8>) -> [String]? {
        var segments: [String] = []
        var rest = text[...]
        while true {
            guard let segment = takeSegment(&rest), !segment.isEmpty else { return nil }
            segments.append(segment)
            guard let separator = rest.popFirst() else { return segments }
            guard separator == UInt8(ascii: ".") else { return nil }
        }
    }

    private static func takeSegment(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        guard let first = rest.first else { return nil }
        guard first == UInt8(ascii: "`") else {
            guard isSimpleStart(first) else { return nil }
            let segment = rest.prefix(while: isSimple)
            rest = rest[segment.endIndex...]
            return String(decoding: segment, as: UTF8.self)
        }
        rest.removeFirst()
        var segment: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "`") { return String(decoding: segment, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                segment.append(escaped)
            } else {
                segment.append(byte)
            }
        }
        return nil
    }

    private static func isSimpleStart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isSimple(_ byte: UInt8) -> Bool {
        isSimpleStart(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func quoted(_ segment: String) -> String {
        if let first = segment.utf8.first, isSimpleStart(first), segment.utf8.allSatisfy(isSimple) { return segment }
        var text = "`"
        for scalar in segment.unicodeScalars {
            if scalar == "`" || scalar == "\\" { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        return text + "`"
    }

    private static func malformed(_ text: String) -> NameError {
        NameError(
            "Invalid property path \"\(text)\". Unquoted property paths must match regex ([a-zA-Z_][a-zA-Z_0-9]*), "
                + "and quoted property paths must match regex (`(?:[^`\\\\]|(?:\\\\.))+`)")
    }
}

/// The path of a field: one or more map keys from the outside in.
///
/// In its text form simple keys (`[a-zA-Z_][a-zA-Z_0-9]*`) stand bare, all others in backticks with `` \` `` and `\\` as escapes,
/// joined by dots.
public struct FieldPath: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// At least one key; none is empty.
    public let segments: [String]

    /// The pseudo-field that stands for the document's name in queries and masks.
    public static let documentName = FieldPath(checked: ["__name__"])

    public var isDocumentName: Bool { segments == ["__name__"] }

    /// - Throws: `NameError` if there is no key or an empty one.
    public init(_ segments: [String]) throws(NameError) {
        guard !segments.isEmpty, !segments.contains("") else { throw NameError("Invalid empty property path string.") }
        self.segments = segments
    }

    /// One top-level key, taken literally (dots and all). An empty key makes a path that no document has.
    public init(key: String) {
        segments = [key]
    }

    private init(checked segments: [String]) {
        self.segments = segments
    }

    /// From the text form.
    public init(parsing text: String) throws(NameError) {
        guard !text.isEmpty else { throw NameError("Invalid empty property path string.") }
        guard text.utf8.count <= 1500 else { throw NameError("property path is longer than 1500 bytes.") }
        var segments: [String] = []
        var rest = text.unicodeScalars[...]
        while true {
            guard let segment = Self.takeSegment(&rest), !segment.isEmpty else { throw Self.malformed(text) }
            segments.append(segment)
            guard let separator = rest.popFirst() else { break }
            guard separator == "." else { throw Self.malformed(text) }
        }
        self.segments = segments
    }

    public var description: String { segments.map(Self.quoted).joined(separator: ".") }

    public static func < (left: FieldPath, right: FieldPath) -> Bool {
        for (a, b) in zip(left.segments, right.segments) {
            let order = UTF8Order.compare(a, b)
            if order != 0 { return order < 0 }
        }
        return left.segments.count < right.segments.count
    }

    public func appending(_ key: String) -> FieldPath { FieldPath(checked: segments + [key]) }

    /// Whether this path is `other` or leads to it.
    public func isPrefix(of other: FieldPath) -> Bool { other.segments.starts(with: segments) }

    private static func takeSegment(_ rest: inout Substring.UnicodeScalarView) -> String? {
        guard let first = rest.first else { return nil }
        var segment = String.UnicodeScalarView()
        if first == "`" {
            rest.removeFirst()
            while let scalar = rest.popFirst() {
                if scalar == "`" { return String(segment) }
                if scalar == "\\" {
                    guard let escaped = rest.popFirst() else { return nil }
                    segment.append(escaped)
                } else {
                    segment.append(scalar)
                }
            }
            return nil
        }
        guard isSimpleStart(first) else { return nil }
        while let scalar = rest.first, isSimple(scalar) {
            segment.append(scalar)
            rest.removeFirst()
        }
        return String(segment)
    }

    private static func isSimpleStart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }

    private static func isSimple(_ scalar: Unicode.Scalar) -> Bool {
        isSimpleStart(scalar) || ("0"..."9").contains(scalar)
    }

    private static func quoted(_ segment: String) -> String {
        let scalars = segment.unicodeScalars
        if let first = scalars.first, isSimpleStart(first), scalars.allSatisfy(isSimple) { return segment }
        var text = "`"
        for scalar in scalars {
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

import DocumentModel
import YAML

/// The canonical text of a custom value.
///
/// Lists and maps are in block style, indented by two, with sorted keys. Strings are quoted only if
/// necessary. Types that YAML lacks become strings: times in RFC 3339, bytes as hexadecimal digits.
/// A geo point becomes a list.
enum CustomValueText {
    /// The nesting depth below which values are omitted, well within the parser's limit.
    private static let maximumDepth = 50

    /// Returns the text after `key:`. It starts with a line break for a list or map that is not
    /// empty.
    static func text(of value: Value) -> String {
        lines(of: value, depth: 0).map { $0.reduce(into: "") { $0 += "\n  " + $1 } } ?? scalar(value)
    }

    /// Returns the lines of a value; nil for a value that is written on the line of its key.
    private static func lines(of value: Value, depth: Int) -> [String]? {
        guard depth < maximumDepth else { return nil }
        switch value {
        case .array(let values) where !values.isEmpty:
            return values.flatMap { item -> [String] in
                guard let inner = lines(of: item, depth: depth + 1) else { return ["-" + spaced(scalar(item))] }
                return inner.enumerated().map { number, line in (number == 0 ? "- " : "  ") + line }
            }
        case .geoPoint(let point):
            return lines(of: .array([.double(point.latitude), .double(point.longitude)]), depth: depth)
        case .map(let map) where !map.isEmpty:
            return map.sorted { $0.key < $1.key }.flatMap { key, item -> [String] in
                let name = YAMLScalarWriter(.key, readers: .coreSchema).write(key)
                guard let inner = lines(of: item, depth: depth + 1) else { return ["\(name):" + spaced(scalar(item))] }
                return ["\(name):"] + inner.map { "  " + $0 }
            }
        default: return nil
        }
    }

    private static func spaced(_ text: String) -> String { text.isEmpty ? "" : " " + text }

    private static func scalar(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): value.isNaN ? ".nan" : value.isInfinite ? (value < 0 ? "-.inf" : ".inf") : "\(value)"
        case .string(let text), .reference(let text): string(text)
        case .timestamp(let time): string(time.rfc3339)
        case .bytes(let bytes):
            string(bytes.reduce(into: "") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) })
        case .array: "[]"
        case .map: "{}"
        case .geoPoint: ""
        }
    }

    private static func string(_ text: String) -> String {
        YAMLScalarWriter(.block, readers: .coreSchema).write(text)
    }
}

import DocumentModel
import TaskModel

/// The text of a document's value for users.
enum ValueText {
    static func text(of value: Value) -> String {
        switch value {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): String(value)
        case .timestamp(let value): value.rfc3339
        case .string(let value), .reference(let value): value
        case .bytes(let value): "\(value.count) bytes"
        case .geoPoint(let point): "\(point.latitude), \(point.longitude)"
        case .array(let values): "[\(values.map(text).joined(separator: ", "))]"
        case .map(let members): text(of: members)
        }
    }

    private static func text(of members: [String: Value]) -> String {
        // A custom field that keeps its YAML source.
        if members.count == 1, let source = members["$yaml"]?.stringValue { return source }
        let parts = members.sorted { $0.key < $1.key }.map { "\($0.key): \(text(of: $0.value))" }
        return "{\(parts.joined(separator: ", "))}"
    }
}

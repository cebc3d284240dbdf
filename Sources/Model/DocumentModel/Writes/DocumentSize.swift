/// The size of a document, as Firestore counts it
/// (https://firebase.google.com/docs/firestore/storage-size).
extension DocumentLimits {
    package static func size(of name: DocumentName, fields: [String: Value]) -> Int {
        size(of: name.path[...]) + 32 + size(of: fields)
    }

    private static func size(of fields: [String: Value]) -> Int {
        fields.reduce(0) { $0 + $1.key.utf8.count + 1 + size(of: $1.value) }
    }

    private static func size(of value: Value) -> Int {
        switch value {
        case .null, .boolean: 1
        case .integer, .double, .timestamp: 8
        case .string(let value): value.utf8.count + 1
        case .bytes(let value): value.count
        case .reference(let name): size(of: pathBelowDocuments(name))
        case .geoPoint: 16
        case .array(let elements): elements.reduce(0) { $0 + size(of: $1) }
        case .map(let fields): size(of: fields)
        }
    }

    /// Returns the size of a name: each segment and one byte for its end, and 16 bytes.
    private static func size(of path: Substring) -> Int { path.utf8.count + 1 + 16 }

    private static func pathBelowDocuments(_ name: String) -> Substring {
        var rest = name.utf8[...]
        for _ in 0..<5 { _ = PathOrder.takeSegment(&rest) }
        return Substring(rest)
    }
}

/// A document as a store holds it.
public struct Document: Sendable, Hashable {
    public var name: DocumentName
    public var fields: [String: Value]
    /// When the document was created; a delete and a new create give a new one.
    public var createTime: Timestamp
    /// The commit time of the write that gave the document its present content: its version.
    public var updateTime: Timestamp

    public init(name: DocumentName, fields: [String: Value], createTime: Timestamp, updateTime: Timestamp) {
        self.name = name
        self.fields = fields
        self.createTime = createTime
        self.updateTime = updateTime
    }

    /// The value at `path`, walking into maps; nil where a part is missing.
    public subscript(path: FieldPath) -> Value? { fields.value(at: path.segments[...]) }
}

extension [String: Value] {
    /// The value at a path of keys; nil where a part is missing or not a map.
    public func value(at segments: ArraySlice<String>) -> Value? {
        guard let key = segments.first, let value = self[key] else { return nil }
        let rest = segments.dropFirst()
        if rest.isEmpty { return value }
        guard case .map(let inner) = value else { return nil }
        return inner.value(at: rest)
    }

    /// Sets, or with nil removes, the value at a path of keys; maps on the way are made (or replace what is not a map) when setting.
    public mutating func setValue(_ value: Value?, at segments: ArraySlice<String>) {
        guard let key = segments.first else { return }
        let rest = segments.dropFirst()
        guard !rest.isEmpty else {
            self[key] = value
            return
        }
        var inner: [String: Value]
        if case .map(let map)? = self[key] {
            inner = map
            // Whoever else holds the map makes the change below a copy of all of it.
            self[key] = .null
        } else if value == nil {
            return
        } else {
            inner = [:]
        }
        inner.setValue(value, at: rest)
        self[key] = .map(inner)
    }
}

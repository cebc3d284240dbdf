/// A document with its name, fields and version.
public struct Document: Sendable, Hashable {
    /// The document's name.
    public var name: DocumentName
    /// The document's fields by top-level key.
    public var fields: [String: Value]
    /// The time at which the document was created. If it is deleted and created again, it gets a
    /// new one.
    public var createTime: Timestamp
    /// The commit time of the write that gave the document its present content. It serves as the
    /// document's version.
    public var updateTime: Timestamp

    /// Creates a document with the given name, fields and times.
    public init(name: DocumentName, fields: [String: Value], createTime: Timestamp, updateTime: Timestamp) {
        self.name = name
        self.fields = fields
        self.createTime = createTime
        self.updateTime = updateTime
    }

    /// The value at `path`, which may lead into maps; nil if a part of the path is missing.
    public subscript(path: FieldPath) -> Value? { fields.value(at: path.segments[...]) }
}

extension [String: Value] {
    /// Returns the value at a path of keys; nil if a part of the path is missing or not a map.
    public func value(at segments: ArraySlice<String>) -> Value? {
        guard let key = segments.first, let value = self[key] else { return nil }
        let rest = segments.dropFirst()
        if rest.isEmpty { return value }
        guard case .map(let inner) = value else { return nil }
        return inner.value(at: rest)
    }

    /// Sets the value at a path of keys, or removes it if `value` is nil.
    ///
    /// Setting creates the maps on the path and replaces values that are not maps.
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
            // Releases the stored reference, so that the change below modifies the map in place
            // instead of copying it.
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

import DocumentModel

/// The automatic index entries of a document: every value of every field, also inside maps, and every element of arrays.
///
/// A key is an ordering key cut at `keyLimit`: entries with equal keys of that length may have different values, so a
/// reader compares the values themselves there.
struct IndexEntries {
    struct Entry: Hashable {
        /// `FieldKey.value` or `.element`.
        let field: [UInt8]
        let key: [UInt8]
    }

    /// Long enough to tell most strings apart, short enough that a page of the index holds many.
    static let keyLimit = 80
    /// Production's limit for one document.
    static let maximumCount = 40_000

    private(set) var entries = Set<Entry>()

    init(_ fields: [String: Value]?) {
        guard let fields else { return }
        entries.reserveCapacity(fields.count)
        add(fields, below: [])
    }

    static func key(_ value: Value) -> [UInt8] { OrderingKey(value, limit: keyLimit).bytes }

    private mutating func add(_ fields: [String: Value], below parent: [UInt8]) {
        for (name, value) in fields {
            var path = parent
            KeyBytes.append(segment: name, to: &path)
            entries.insert(Entry(field: FieldKey.value(path), key: Self.key(value)))
            switch value {
            case .map(let inner) where value.vectorElements == nil: add(inner, below: path)
            case .array(let elements):
                let field = FieldKey.element(path)
                for element in elements { entries.insert(Entry(field: field, key: Self.key(element))) }
            default: break
            }
        }
    }
}

/// The names of index columns: a kind and a field's path.
enum FieldKey {
    static func value(_ path: [UInt8]) -> [UInt8] { [UInt8(ascii: "=")] + path }

    static func element(_ path: [UInt8]) -> [UInt8] { [UInt8(ascii: "@")] + path }
}

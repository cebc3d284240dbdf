package import DocumentModel

/// The automatic index entries of a document: one for every value of every field that is not
/// exempt, including fields within maps, one for every element of arrays, and the entries of its
/// collection's composite indexes.
///
/// An entry is the key of a row: the numbers of the collection and the column, the value's ordering
/// key, and the document's id. Ordering keys are cut at `keyLimit`. Entries that are equal up to
/// the id there may have different values, so a reader compares the values themselves. No number
/// and no ordering key is a prefix of another, cut or not, so that rows compare (memcmp) like
/// collection, column, value and id.
package struct IndexEntries {
    /// The length at which ordering keys are cut: long enough to distinguish most strings, short
    /// enough that a page of the index holds many entries.
    static let keyLimit = 80
    /// Production's limit for one document.
    static let maximumCount = 40_000

    let collection: Int64
    let id: [UInt8]
    let composites: [CompositeIndex.Column]
    /// The fields that have entries only in composite indexes; see `IndexExemption`.
    let exempt: Set<String>
    /// Returns the number of a column (`FieldKey`, `CompositeIndex.path`); nil if it has none, and
    /// therefore no entries.
    let number: (_ column: [UInt8]) throws -> Int64?

    package init(
        collection: Int64, id: [UInt8], composites: [CompositeIndex.Column], exempt: Set<String>,
        number: @escaping (_ column: [UInt8]) throws -> Int64?
    ) {
        self.collection = collection
        self.id = id
        self.composites = composites
        self.exempt = exempt
        self.number = number
    }

    static func key(_ value: Value) -> [UInt8] { OrderingKey(value, limit: keyLimit).bytes }

    /// Returns the prefix of the rows of one column.
    package static func prefix(collection: Int64, column: Int64) -> [UInt8] {
        var prefix = prefix(collection: collection)
        append(column, to: &prefix)
        return prefix
    }

    /// Returns the prefix of the rows of one collection.
    package static func prefix(collection: Int64) -> [UInt8] {
        var prefix: [UInt8] = []
        append(collection, to: &prefix)
        return prefix
    }

    /// Checks the number of entries.
    ///
    /// - Throws: `DocumentStoreError` for a document that would have too many entries.
    package static func checkCount(_ document: Document, exempt: Set<String>) throws {
        let counts = document.fields.lazy.filter { !exempt.contains($0.key) }.map { count($0.value) }
        guard counts.reduce(0, +) > maximumCount else { return }
        throw DocumentStoreError(
            .invalidArgument, "Document \(document.name) has more than \(maximumCount) index entries.")
    }

    private static func count(_ value: Value) -> Int {
        switch value {
        case .map(let inner) where value.vectorElements == nil: 1 + inner.values.reduce(0) { $0 + count($1) }
        case .array(let elements): 1 + elements.count
        default: 1
        }
    }

    /// Returns the rows of a version, possibly with duplicates.
    package func rows(of fields: [String: Value]) throws -> [[UInt8]] {
        var rows: [[UInt8]] = []
        rows.reserveCapacity(fields.count + 4)
        for (name, value) in fields where !exempt.contains(name) { try add(name, value, below: [], to: &rows) }
        try addComposites(of: fields, to: &rows)
        return rows
    }

    /// Returns the rows that are removed and added when one version replaces another. A version is
    /// nil if the document does not exist.
    package func difference(
        from before: [String: Value]?, to after: [String: Value]?
    ) throws -> (gone: [[UInt8]], new: [[UInt8]]) {
        guard let before else { return ([], try after.map(rows) ?? []) }
        guard let after else { return (try rows(of: before), []) }
        var old: [[UInt8]] = []
        var new: [[UInt8]] = []
        try addChanges(from: before, to: after, below: [], &old, &new)
        try addComposites(of: before, to: &old)
        try addComposites(of: after, to: &new)
        let (oldRows, newRows) = (Set(old), Set(new))
        return (Array(oldRows.subtracting(newRows)), Array(newRows.subtracting(oldRows)))
    }

    /// Adds the differences between two maps; of maps within them, only the differences too.
    private func addChanges(
        from before: [String: Value], to after: [String: Value], below parent: [UInt8], _ old: inout [[UInt8]],
        _ new: inout [[UInt8]]
    ) throws {
        for (name, value) in before where !isExempt(name, below: parent) && after[name] != value {
            guard let other = after[name], let mine = value.indexedMap, let theirs = other.indexedMap else {
                try add(name, value, below: parent, to: &old)
                continue
            }
            var path = parent
            KeyBytes.append(segment: name, to: &path)
            try add(value, column: FieldKey.value(path), to: &old)
            try add(other, column: FieldKey.value(path), to: &new)
            try addChanges(from: mine, to: theirs, below: path, &old, &new)
        }
        for (name, value) in after where !isExempt(name, below: parent) && before[name] != value {
            if value.indexedMap != nil, before[name]?.indexedMap != nil { continue }
            try add(name, value, below: parent, to: &new)
        }
    }

    private func isExempt(_ name: String, below parent: [UInt8]) -> Bool { parent.isEmpty && exempt.contains(name) }

    private func add(_ name: String, _ value: Value, below parent: [UInt8], to rows: inout [[UInt8]]) throws {
        var path = parent
        KeyBytes.append(segment: name, to: &path)
        try add(value, column: FieldKey.value(path), to: &rows)
        switch value {
        case .map(let inner) where value.vectorElements == nil:
            for (name, value) in inner { try add(name, value, below: path, to: &rows) }
        case .array(let elements):
            for element in elements { try add(element, column: FieldKey.element(path), to: &rows) }
        default: break
        }
    }

    private func add(_ value: Value, column: [UInt8], to rows: inout [[UInt8]]) throws {
        guard let number = try number(column) else { return }
        var key = OrderingKey(following: Self.prefix(collection: collection, column: number))
        key.append(value, limit: Self.keyLimit)
        rows.append(key.bytes + id)
    }

    private func addComposites(of fields: [String: Value], to rows: inout [[UInt8]]) throws {
        for column in composites {
            let prefix = Self.prefix(collection: collection, column: column.number)
            for key in column.index.keys(of: fields) { rows.append(prefix + key + id) }
        }
    }

    /// Appends a number: small numbers as one byte, others as their length and big-endian bytes.
    /// Never begins with FF.
    private static func append(_ number: Int64, to key: inout [UInt8]) {
        guard number < 0 || number >= 0xF0 else {
            key.append(UInt8(number))
            return
        }
        let word = UInt64(bitPattern: number)
        let count = (64 - word.leadingZeroBitCount + 7) / 8
        key.append(0xEF + UInt8(count))
        for place in (0..<count).reversed() { key.append(UInt8(truncatingIfNeeded: word >> UInt64(place * 8))) }
    }
}

extension Value {
    /// The entries of a map that is indexed by its fields.
    fileprivate var indexedMap: [String: Value]? {
        if case .map(let fields) = self, vectorElements == nil { fields } else { nil }
    }
}

/// The names of index columns: a kind and a field's path.
enum FieldKey {
    static func value(_ path: [UInt8]) -> [UInt8] { [UInt8(ascii: "=")] + path }

    static func element(_ path: [UInt8]) -> [UInt8] { [UInt8(ascii: "@")] + path }
}

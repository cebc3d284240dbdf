package import DocumentModel

/// An index over several fields of one collection, for queries that require some fields to be equal
/// and the results to be in an order.
///
/// The store creates one automatically after a query of this form would have had to read too much
/// without it. Documents that lack one of the fields are not in the index. They are not results of
/// such a query either.
package struct CompositeIndex: Sendable, Hashable {
    package enum Part: Sendable, Hashable {
        case value(FieldPath)
        case element(FieldPath)
        case order(FieldPath, descending: Bool)
    }

    /// A composite index of a collection, and the number with which its entries begin.
    package struct Column: Sendable, Hashable {
        package let index: CompositeIndex
        package let number: Int64

        package init(index: CompositeIndex, number: Int64) {
            self.index = index
            self.number = number
        }
    }

    /// The way in which a query reads the index.
    struct Use {
        let index: CompositeIndex
        let range: IndexRange
        let descending: Bool
        /// Whether documents with equal keys are in a different order than the results.
        let sortsGroups: Bool
    }

    /// The equal fields in the order of their paths, then the orders. The first order is ascending.
    package let parts: [Part]

    // MARK: Entries

    /// Returns the ordering keys of a document with these fields, which precede its id in the rows.
    func keys(of fields: [String: Value]) -> [[UInt8]] {
        var keys = [OrderingKey()]
        for part in parts {
            switch part {
            case .value(let path):
                guard let value = fields.value(at: path.segments[...]) else { return [] }
                for index in keys.indices { keys[index].append(value, limit: IndexEntries.keyLimit) }
            case .element(let path):
                guard case .array(let elements)? = fields.value(at: path.segments[...]) else { return [] }
                keys = keys.flatMap { key in
                    elements.map { element in
                        var key = key
                        key.append(element, limit: IndexEntries.keyLimit)
                        return key
                    }
                }
            case .order(let path, let descending):
                guard let value = fields.value(at: path.segments[...]) else { return [] }
                for index in keys.indices {
                    keys[index].append(value, descending: descending, limit: IndexEntries.keyLimit)
                }
            }
        }
        return keys.map(\.bytes)
    }

    // MARK: Queries

    /// Returns the index that serves one of a query's disjunctions best, and the range of it to
    /// read; nil if an index would bring no benefit.
    static func use(for plan: QueryPlan, _ conjunction: [Condition]) -> Use? {
        var equal: [(path: FieldPath, part: Part, value: Value)] = []
        for condition in conjunction where !condition.path.isDocumentName {
            switch condition.test {
            case .equal(let value): equal.append((condition.path, .value(condition.path), value))
            case .isNull: equal.append((condition.path, .value(condition.path), .null))
            case .isNaN: equal.append((condition.path, .value(condition.path), .double(.nan)))
            // Only one array element, because several would multiply the entries.
            case .arrayContains(let value) where !equal.contains { if case .element = $0.part { true } else { false } }:
                equal.append((condition.path, .element(condition.path), value))
            default: break
            }
        }
        let fixed = Set(equal.compactMap { if case .value(let path) = $0.part { path } else { nil } })
        let orders = plan.orders.filter { !$0.path.isDocumentName && !fixed.contains($0.path) }
        guard !equal.isEmpty, let first = orders.first else { return nil }
        // Of contradictory conditions on one part, the first is read, and the matcher rejects the
        // others.
        var seen = Set<Part>()
        equal = equal.filter { seen.insert($0.part).inserted }.sorted { $0.path < $1.path }
        var key = OrderingKey()
        for (_, _, value) in equal { key.append(value, limit: IndexEntries.keyLimit) }
        var range = IndexRange.all
        if !key.isTruncated {
            for condition in conjunction where condition.path == first.path {
                range = range.intersection(IndexRange(condition.test))
            }
            if plan.orders.first == first { range = range.intersection(IndexRange(cursorsOf: plan)) }
        }
        let index = CompositeIndex(
            parts: equal.map(\.part)
                + orders.map { .order($0.path, descending: $0.descending != first.descending) })
        return Use(
            index: index, range: IndexRange(lower: key.bytes + range.lower, upper: key.bytes + range.upper),
            descending: first.descending, sortsGroups: plan.orders.last?.descending != first.descending)
    }

    // MARK: Encoding as the name of a column

    /// The encoded index: `&`, then for each part its kind, the segments of its path, and 00.
    package var path: [UInt8] {
        var bytes = [UInt8(ascii: "&")]
        for part in parts {
            let field: FieldPath
            switch part {
            case .value(let path): (field, _) = (path, bytes.append(UInt8(ascii: "=")))
            case .element(let path): (field, _) = (path, bytes.append(UInt8(ascii: "@")))
            case .order(let path, let descending):
                (field, _) = (path, bytes.append(UInt8(ascii: descending ? ">" : "<")))
            }
            bytes += KeyBytes.field(field) + [0]
        }
        return bytes
    }

    init(parts: [Part]) {
        self.parts = parts
    }

    /// Decodes an index; nil for bytes that `path` does not produce.
    package init?(path: [UInt8]) {
        guard path.first == UInt8(ascii: "&") else { return nil }
        var parts: [Part] = []
        var rest = path.dropFirst()
        while let kind = rest.popFirst() {
            var segments: [String] = []
            while let end = rest.firstIndex(of: 0), end != rest.startIndex {
                guard let segment = rest[...end].withUnsafeBytes({ KeyBytes.decodePath($0) }) else { return nil }
                segments.append(segment)
                rest = rest[(end + 1)...]
            }
            guard rest.popFirst() == 0, let field = try? FieldPath(segments) else { return nil }
            switch kind {
            case UInt8(ascii: "="): parts.append(.value(field))
            case UInt8(ascii: "@"): parts.append(.element(field))
            case UInt8(ascii: "<"): parts.append(.order(field, descending: false))
            case UInt8(ascii: ">"): parts.append(.order(field, descending: true))
            default: return nil
            }
        }
        self.init(parts: parts)
    }
}

extension IndexRange {
    /// Creates the range of keys of the first order that the query's cursors allow.
    init(cursorsOf plan: QueryPlan) {
        self = .all
        let descending = plan.orders.first?.descending ?? false
        if let value = plan.query.start?.values.first {
            let key = IndexEntries.key(value)
            self = intersection(descending ? IndexRange(through: key) : IndexRange(from: key))
        }
        if let value = plan.query.end?.values.first {
            let key = IndexEntries.key(value)
            self = intersection(descending ? IndexRange(from: key) : IndexRange(through: key))
        }
    }
}

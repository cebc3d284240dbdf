import DocumentModel

/// Finds the listen targets, or the queries of transactions, that a change may concern, without
/// examining the others.
///
/// A query is filed under its collection and, if its filter requires that a field equals or
/// contains a value, under that value. A thousand users' queries therefore cost a commit no more
/// than one. The results are candidates; the query itself makes the final decision.
struct TargetIndex {
    struct Key: Hashable, Sendable {
        let stream: UInt64
        let target: Int32
    }

    /// The value that a query requires of a field.
    private enum Demand: Hashable {
        case value([UInt8])
        case element([UInt8])
    }

    /// The queries that require something of one field.
    private struct Demands {
        var values: [[UInt8]: Set<Key>] = [:]
        var elements: [[UInt8]: Set<Key>] = [:]

        var isEmpty: Bool { values.isEmpty && elements.isEmpty }

        mutating func insert(_ key: Key, _ demand: Demand) {
            switch demand {
            case .value(let value): values[value, default: []].insert(key)
            case .element(let element): elements[element, default: []].insert(key)
            }
        }

        mutating func remove(_ key: Key, _ demand: Demand) {
            switch demand {
            case .value(let value):
                values[value]?.remove(key)
                if values[value]?.isEmpty == true { values[value] = nil }
            case .element(let element):
                elements[element]?.remove(key)
                if elements[element]?.isEmpty == true { elements[element] = nil }
            }
        }
    }

    private struct Bucket {
        var unkeyed = Set<Key>()
        /// The queries by the first segment of the field's path. A change examines only the fields
        /// that it has, however many different fields queries name.
        var byField: [String: [FieldPath: Demands]] = [:]

        var isEmpty: Bool { unkeyed.isEmpty && byField.isEmpty }

        mutating func insert(_ key: Key, _ path: FieldPath, _ demand: Demand) {
            byField[path.segments.first ?? "", default: [:]][path, default: Demands()].insert(key, demand)
        }

        mutating func remove(_ key: Key, _ path: FieldPath, _ demand: Demand) {
            let field = path.segments.first ?? ""
            byField[field]?[path]?.remove(key, demand)
            if byField[field]?[path]?.isEmpty == true { byField[field]?[path] = nil }
            if byField[field]?.isEmpty == true { byField[field] = nil }
        }

        func collect(_ document: Document, into found: inout Set<Key>) {
            if byField.count < document.fields.count {
                for field in byField.keys where document.fields[field] != nil { collect(field, document, &found) }
            } else {
                for field in document.fields.keys { collect(field, document, &found) }
            }
        }

        private func collect(_ field: String, _ document: Document, _ found: inout Set<Key>) {
            for (path, demands) in byField[field] ?? [:] {
                guard let value = document[path] else { continue }
                if !demands.values.isEmpty, let keys = demands.values[IndexEntries.key(value)] {
                    found.formUnion(keys)
                }
                guard !demands.elements.isEmpty else { continue }
                for element in value.arrayValue ?? [] {
                    if let keys = demands.elements[IndexEntries.key(element)] { found.formUnion(keys) }
                }
            }
        }
    }

    private enum Place: Hashable {
        /// A collection by its path.
        case collection([UInt8])
        /// All collections with an id.
        case group([UInt8])
        /// Everything below a document, or below the database for an empty path.
        case tree([UInt8])
    }

    private enum Entry: Hashable {
        case unkeyed(Place)
        case field(Place, FieldPath, Demand)
        case document(DocumentName)
    }

    private var buckets: [Place: Bucket] = [:]
    private var documents: [DocumentName: Set<Key>] = [:]
    private var entries: [Key: [Entry]] = [:]

    var count: Int { entries.count }

    mutating func insert(_ key: Key, plan: QueryPlan) {
        let query = plan.query
        let id = query.collectionID ?? ""
        let place: Place =
            if plan.isKindless || query.allDescendants && !query.parent.path.isEmpty {
                .tree(Array(query.parent.path.utf8))
            } else if query.allDescendants {
                .group(Array(id.utf8))
            } else {
                .collection(Array(query.parent.collectionPath(id).utf8))
            }
        var filed = Set<Entry>()
        for conjunction in plan.disjunctions {
            filed.insert(Self.demand(of: conjunction).map { .field(place, $0, $1) } ?? .unkeyed(place))
        }
        file(key, Array(filed))
    }

    /// Returns what a disjunction requires of one field. Prefers a field of the document itself to
    /// one within a map, so that queries for many different keys of one map do not slow down
    /// others.
    private static func demand(of conjunction: [Condition]) -> (path: FieldPath, demand: Demand)? {
        var nested: (FieldPath, Demand)?
        var element: (FieldPath, Demand)?
        for condition in conjunction where !condition.path.isDocumentName {
            switch condition.test {
            case .equal(let value):
                let found = (condition.path, Demand.value(IndexEntries.key(value)))
                if condition.path.segments.count == 1 { return found }
                nested = nested ?? found
            case .arrayContains(let value) where condition.path.segments.count == 1:
                element = element ?? (condition.path, .element(IndexEntries.key(value)))
            default: break
            }
        }
        return element ?? nested
    }

    mutating func insert(_ key: Key, documents names: [DocumentName]) {
        file(key, Set(names).map(Entry.document))
    }

    mutating func remove(_ key: Key) {
        for entry in entries.removeValue(forKey: key) ?? [] {
            switch entry {
            case .unkeyed(let place):
                buckets[place]?.unkeyed.remove(key)
                if buckets[place]?.isEmpty == true { buckets[place] = nil }
            case .field(let place, let path, let demand):
                buckets[place]?.remove(key, path, demand)
                if buckets[place]?.isEmpty == true { buckets[place] = nil }
            case .document(let name):
                documents[name]?.remove(key)
                if documents[name]?.isEmpty == true { documents[name] = nil }
            }
        }
    }

    /// Returns the queries whose documents this change may add, change, or remove.
    func candidates(for change: CommitRecord.Change) -> Set<Key> {
        candidates(for: change.name, before: change.before, after: change.after)
    }

    func candidates(for name: DocumentName, before: Document?, after: Document?) -> Set<Key> {
        guard !entries.isEmpty else { return [] }
        var found = documents[name] ?? []
        var places = [Place.collection(Array(name.collectionPath.utf8)), .group(Array(name.collectionID.utf8))]
        var ancestor = name.parent
        while let document = ancestor {
            places.append(.tree(Array(document.path.utf8)))
            ancestor = document.parent
        }
        places.append(.tree([]))
        for bucket in places.compactMap({ buckets[$0] }) {
            found.formUnion(bucket.unkeyed)
            if let before { bucket.collect(before, into: &found) }
            if let after { bucket.collect(after, into: &found) }
        }
        return found
    }

    private mutating func file(_ key: Key, _ filed: [Entry]) {
        entries[key] = filed
        for entry in filed {
            switch entry {
            case .unkeyed(let place): buckets[place, default: Bucket()].unkeyed.insert(key)
            case .field(let place, let path, let demand):
                buckets[place, default: Bucket()].insert(key, path, demand)
            case .document(let name): documents[name, default: []].insert(key)
            }
        }
    }
}

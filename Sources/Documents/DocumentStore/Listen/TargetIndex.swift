import DocumentModel

/// Finds the listen targets that a change may concern without looking at the others.
///
/// A query target is filed under its collection and, where its filter demands that a field equals a value, under that
/// value: a thousand users' queries cost a commit no more than one. What is found is a candidate; the query decides.
struct TargetIndex {
    struct Key: Hashable, Sendable {
        let stream: UInt64
        let target: Int32
    }

    private struct Bucket {
        var unkeyed = Set<Key>()
        var byValue: [FieldPath: [[UInt8]: Set<Key>]] = [:]

        var isEmpty: Bool { unkeyed.isEmpty && byValue.isEmpty }
    }

    private enum Place: Hashable {
        /// A collection by its path.
        case collection([UInt8])
        /// All collections of an id.
        case group([UInt8])
    }

    private enum Entry: Hashable {
        case unkeyed(Place)
        case value(Place, FieldPath, [UInt8])
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
            query.allDescendants
            ? .group(Array(id.utf8)) : .collection(Array(query.parent.collectionPath(id).utf8))
        var filed = Set<Entry>()
        for conjunction in plan.disjunctions {
            let equality = conjunction.lazy.compactMap { condition -> Entry? in
                guard case .equal(let value) = condition.test, !condition.path.isDocumentName else { return nil }
                return .value(place, condition.path, IndexEntries.key(value))
            }.first
            filed.insert(equality ?? .unkeyed(place))
        }
        file(key, Array(filed))
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
            case .value(let place, let path, let value):
                buckets[place]?.byValue[path]?[value]?.remove(key)
                if buckets[place]?.byValue[path]?[value]?.isEmpty == true {
                    buckets[place]?.byValue[path]?[value] = nil
                }
                if buckets[place]?.byValue[path]?.isEmpty == true { buckets[place]?.byValue[path] = nil }
                if buckets[place]?.isEmpty == true { buckets[place] = nil }
            case .document(let name):
                documents[name]?.remove(key)
                if documents[name]?.isEmpty == true { documents[name] = nil }
            }
        }
    }

    /// The targets whose documents this change may add, alter, or take away.
    func candidates(for change: CommitRecord.Change) -> Set<Key> {
        guard !entries.isEmpty else { return [] }
        var found = documents[change.name] ?? []
        let places = [
            Place.collection(Array(change.name.collectionPath.utf8)), .group(Array(change.name.collectionID.utf8)),
        ]
        for bucket in places.compactMap({ buckets[$0] }) {
            found.formUnion(bucket.unkeyed)
            for (path, values) in bucket.byValue {
                for document in [change.before, change.after] {
                    guard let value = document?[path] else { continue }
                    if let keys = values[IndexEntries.key(value)] { found.formUnion(keys) }
                }
            }
        }
        return found
    }

    private mutating func file(_ key: Key, _ filed: [Entry]) {
        entries[key] = filed
        for entry in filed {
            switch entry {
            case .unkeyed(let place): buckets[place, default: Bucket()].unkeyed.insert(key)
            case .value(let place, let path, let value):
                buckets[place, default: Bucket()].byValue[path, default: [:]][value, default: []].insert(key)
            case .document(let name): documents[name, default: []].insert(key)
            }
        }
    }
}

import DocumentModel

/// Chooses the indexes that a query reads.
struct QueryPlanner {
    let plan: QueryPlan
    let snapshot: any StoreSnapshot

    private var query: Query { plan.query }

    func accessPath() throws -> AccessPath {
        if query.limit == 0 { return .nothing }
        guard !plan.isKindless, !query.allDescendants, let id = query.collectionID else { return try descendants() }
        guard let collection = try snapshot.collection(query.parent.collectionPath(id)) else { return .nothing }
        let isSingle = plan.disjunctions.count == 1 && query.findNearest == nil
        let use = isSingle ? CompositeIndex.use(for: plan, plan.disjunctions[0]) : nil
        if let use, try snapshot.readyComposite(use.index, of: collection) != nil {
            let scan = Scan(
                collection: collection, column: .field(use.index.path), range: use.range, descending: use.descending)
            return .ordered(scan, needsMatching: true, sortsGroups: use.sortsGroups)
        }
        let selective = try selectiveScans(in: collection)
        guard query.findNearest == nil else { return .gathered(selective ?? [nameScan(in: collection)]) }
        if let scan = selective?.first, selective?.count == 1, ordersByNameOnly(given: plan.disjunctions[0]) {
            return .ordered(scan, needsMatching: !isExact(scan), sortsGroups: false)
        }
        if let use, let selective, try gains(from: selective) {
            snapshot.suggest(use.index, of: collection)
        }
        let isSmall = try selective.map(isSmall) ?? false
        if !isSingle, let merged = try merged(in: [collection], insteadOf: selective, isSmall) { return merged }
        if let selective, isSmall { return .gathered(selective) }
        return try orderedScan(in: collection)
    }

    /// Whether a field has no index entries.
    private func isExempt(_ path: FieldPath, in collection: Int64) throws -> Bool {
        guard !path.isDocumentName, let field = path.segments.first else { return false }
        return try snapshot.exemptFields(of: collection).contains(field)
    }

    // MARK: In the order of the results

    private func orderedScan(in collection: Int64) throws -> AccessPath {
        let path = plan.orders[0].path
        guard !path.isDocumentName else {
            let isExact = query.filter == nil && query.start == nil && query.end == nil
            return .ordered(nameScan(in: collection), needsMatching: !isExact, sortsGroups: false)
        }
        if try isExempt(path, in: collection) { return .gathered([nameScan(in: collection)]) }
        let input = fieldScan(plan.disjunctions.count == 1 ? plan.disjunctions[0] : [], in: collection)
        return .ordered(input.scan, needsMatching: true, sortsGroups: input.sortsGroups)
    }

    /// Returns a scan along the first order, restricted by a disjunction's conditions on its field.
    private func fieldScan(_ conjunction: [Condition], in collection: Int64) -> MergedScans.Input {
        let first = plan.orders[0]
        var range = IndexRange(cursorsOf: plan)
        for condition in conjunction where condition.path == first.path {
            range = range.intersection(IndexRange(condition.test))
        }
        let scan = Scan(
            collection: collection, column: .field(FieldKey.value(KeyBytes.field(first.path))), range: range,
            descending: first.descending)
        let followsIndex = plan.orders.count == 2 && plan.orders[1].descending == first.descending
        return MergedScans.Input(scan: scan, sortsGroups: !followsIndex)
    }

    /// Returns a scan along the name, restricted by the conditions on it if there is only one
    /// disjunction.
    private func nameScan(in collection: Int64) -> Scan {
        nameScan(plan.disjunctions.count == 1 ? plan.disjunctions[0] : [], in: collection)
    }

    /// Returns a scan along the name, restricted by a disjunction's conditions on it.
    private func nameScan(_ conjunction: [Condition], in collection: Int64) -> Scan {
        var ids = cursorIDs()
        for condition in conjunction where condition.path.isDocumentName {
            switch condition.test {
            case .equal(let value):
                if let id = id(value) { ids = ids.intersection(IndexRange(id: id)) }
            case .lessThan(let value), .lessThanOrEqual(let value):
                if let id = id(value) { ids = ids.intersection(IndexRange(throughID: id)) }
            case .greaterThan(let value), .greaterThanOrEqual(let value):
                if let id = id(value) { ids = ids.intersection(IndexRange(from: id)) }
            default: break
            }
        }
        let descending = plan.orders.first?.path.isDocumentName == true && plan.orders[0].descending
        return Scan(collection: collection, column: .name, descending: descending, ids: ids)
    }

    /// Returns the bounds of the ids given by the cursors, if the results are ordered by name only.
    private func cursorIDs() -> IndexRange {
        guard plan.orders.count == 1, let order = plan.orders.first else { return .all }
        var range = IndexRange.all
        if let id = query.start?.values.first.flatMap(id) {
            range = range.intersection(order.descending ? IndexRange(throughID: id) : IndexRange(from: id))
        }
        if let id = query.end?.values.first.flatMap(id) {
            range = range.intersection(order.descending ? IndexRange(from: id) : IndexRange(throughID: id))
        }
        return range
    }

    /// Returns the id at the end of a reference into the query's own collection. Returns nil for
    /// any other reference, for a numeric id, and for a query over several collections, whose ids
    /// such a reference does not bound.
    private func id(_ value: Value) -> [UInt8]? {
        guard case .reference(let reference) = value, let name = try? DocumentName(parsing: reference),
            !query.allDescendants, !plan.isKindless, plan.isInScope(name), DocumentName.numericID(name.id[...]) == nil
        else { return nil }
        return Array(name.id.utf8)
    }

    // MARK: By equality

    /// Returns one scan of a single key per disjunction; nil if a disjunction has no equality.
    private func selectiveScans(in collection: Int64) throws -> [Scan]? {
        var scans: [Scan] = []
        for conjunction in plan.disjunctions {
            guard let scan = try selectiveScan(conjunction, in: collection) else { return nil }
            scans.append(scan)
        }
        return scans
    }

    /// Returns the scan of a single key that has the fewest documents of a disjunction; in the
    /// order of names if the results are ordered by name.
    private func selectiveScan(_ conjunction: [Condition], in collection: Int64) throws -> Scan? {
        let scans = try conjunction.compactMap { try selectiveScan($0, in: collection) }
        guard var scan = try fewest(scans) else { return nil }
        if ordersByNameOnly(given: conjunction) {
            scan.descending = plan.orders.last?.descending ?? false
            scan.ids = scan.ids.intersection(cursorIDs())
        }
        return scan
    }

    private func fewest(_ scans: [Scan]) throws -> Scan? {
        guard scans.count > 1 else { return scans.first }
        var best: (scan: Scan, count: Int)?
        for scan in scans {
            let count = try count(scan)
            if count < best?.count ?? .max { best = (scan, count) }
        }
        return best?.scan
    }

    private func selectiveScan(_ condition: Condition, in collection: Int64) throws -> Scan? {
        guard try !isExempt(condition.path, in: collection) else { return nil }
        let path = KeyBytes.field(condition.path)
        switch condition.test {
        case .equal(let value) where condition.path.isDocumentName:
            return id(value).map { Scan(collection: collection, column: .name, ids: IndexRange(id: $0)) }
        case .equal, .isNull, .isNaN:
            guard !condition.path.isDocumentName else { return nil }
            return Scan(
                collection: collection, column: .field(FieldKey.value(path)), range: IndexRange(condition.test))
        case .arrayContains(let value):
            guard !condition.path.isDocumentName else { return nil }
            return Scan(
                collection: collection, column: .field(FieldKey.element(path)), range: IndexRange(equalTo: value))
        default: return nil
        }
    }

    /// Whether the results are ordered by name among documents that satisfy `conjunction`.
    private func ordersByNameOnly(given conjunction: [Condition]) -> Bool {
        plan.orders.dropLast().allSatisfy { order in
            conjunction.contains { condition in
                switch condition.test {
                case .equal, .isNull, .isNaN: condition.path == order.path
                default: false
                }
            }
        }
    }

    private func isExact(_ scan: Scan) -> Bool {
        guard case .field = scan.column, scan.range.lower.count < IndexEntries.keyLimit, plan.disjunctions.count == 1,
            plan.disjunctions[0].count == 1, plan.orders.count == 1, query.start == nil, query.end == nil
        else { return false }
        switch plan.disjunctions[0][0].test {
        // Null and NaN operands match nothing, although there are entries for them.
        case .equal(let value), .arrayContains(let value): return value != .null && !value.isNaN
        case .isNull, .isNaN: return true
        default: return false
        }
    }

    /// Whether far fewer documents are wanted than these scans contain.
    private func gains(from scans: [Scan]) throws -> Bool {
        guard let limit = query.limit else { return false }
        let wanted = Int(limit) + Int(query.offset)
        return try scans.reduce(0) { try $0 + count($1) }
            > max(snapshot.tuning.compositeMinimum, snapshot.tuning.compositeGain * wanted)
    }

    private func isSmall(_ scans: [Scan]) throws -> Bool {
        var total = 0
        for scan in scans {
            total += try count(scan)
            if total > snapshot.tuning.gatherLimit { return false }
        }
        return true
    }

    /// Returns the number of entries of a scan, capped a little above `gatherLimit`.
    private func count(_ scan: Scan) throws -> Int {
        guard case .field(let key) = scan.column else { return 1 }
        guard let field = try snapshot.field(key) else { return 0 }
        let (_, lower, upper) = ScanReader.rows(of: scan, field)
        return try snapshot.estimateEntries(from: lower, below: upper, limit: snapshot.tuning.gatherLimit)
    }

    // MARK: Side by side

    /// Returns one scan for each disjunction in each collection, all in the order of the results.
    ///
    /// Returns nil if one of them would contain many documents that are not results, or if
    /// collecting the few documents of `selective` is faster.
    private func merged(
        in collections: [Int64], insteadOf selective: [Scan]?, _ isSmall: Bool
    ) throws -> AccessPath? {
        guard collections.count * plan.disjunctions.count <= MergedScans.maximumCount else { return nil }
        let gains = try selective.map(gains) ?? true
        guard gains || !isSmall else { return nil }
        var inputs: [MergedScans.Input] = []
        var isComplete = true
        for collection in collections {
            for conjunction in plan.disjunctions {
                if let input = try tightScan(conjunction, in: collection, gains: gains) {
                    inputs.append(input)
                } else {
                    isComplete = false
                }
            }
        }
        return isComplete ? .merged(inputs) : nil
    }

    /// Returns a scan in the order of the results that contains few documents besides results of
    /// one disjunction.
    private func tightScan(
        _ conjunction: [Condition], in collection: Int64, gains: Bool
    ) throws -> MergedScans.Input? {
        let selective = try selectiveScan(conjunction, in: collection)
        if ordersByNameOnly(given: conjunction) {
            if let selective { return MergedScans.Input(scan: selective, sortsGroups: false) }
            guard conjunction.allSatisfy(\.path.isDocumentName) else { return nil }
            return MergedScans.Input(scan: nameScan(conjunction, in: collection), sortsGroups: false)
        }
        guard let use = CompositeIndex.use(for: plan, conjunction) else {
            let path = plan.orders[0].path
            guard conjunction.allSatisfy({ $0.path == path && $0.isInequality }),
                try !isExempt(path, in: collection)
            else { return nil }
            return fieldScan(conjunction, in: collection)
        }
        if try snapshot.readyComposite(use.index, of: collection) != nil {
            let scan = Scan(
                collection: collection, column: .field(use.index.path), range: use.range, descending: use.descending)
            return MergedScans.Input(scan: scan, sortsGroups: use.sortsGroups)
        }
        if gains, query.limit != nil, let selective, try count(selective) > snapshot.tuning.compositeMinimum {
            snapshot.suggest(use.index, of: collection)
        }
        return nil
    }

    // MARK: Several collections

    private func descendants() throws -> AccessPath {
        let collections = try collectionsBelow()
        if collections.isEmpty { return .nothing }
        let selective = try collections.map { try selectiveScans(in: $0) }
        if query.findNearest == nil, collections.count <= MergedScans.maximumCount {
            let all = selective.contains(nil) ? nil : selective.flatMap { $0 ?? [] }
            let isSmall = try all.map(isSmall) ?? false
            if let merged = try merged(in: collections, insteadOf: all, isSmall) { return merged }
        }
        return .gathered(
            zip(collections, selective).flatMap { $1 ?? [Scan(collection: $0, column: .name)] })
    }

    private func collectionsBelow() throws -> [Int64] {
        let prefix = KeyBytes.path(query.parent.path)
        let upper = KeyBytes.successor(ofPrefix: prefix) ?? IndexRange.all.upper
        return try snapshot.collections(
            from: prefix, below: upper, named: plan.isKindless ? nil : Array((query.collectionID ?? "").utf8))
    }
}

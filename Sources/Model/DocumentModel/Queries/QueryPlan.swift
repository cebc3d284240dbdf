/// A checked and normalized query: the information that a store needs to find results, and the
/// final test of each result.
///
/// Whichever index a store reads, its results are the documents that satisfy `matches`, in the
/// order of `compare`, after `offset`, up to `limit`.
package struct QueryPlan: Sendable, Hashable {
    package static let maximumParts = 100
    package static let maximumInequalityFields = 10

    package let query: Query
    /// The explicit orders, then the inequality fields, then the name, which makes the order total.
    package let orders: [Query.Order]
    /// The filter's disjunctive normal form: at most 30 conjunctions, one of which must hold. Never
    /// empty.
    package let disjunctions: [[Condition]]
    /// The top-level fields that `matches` and `compare` read.
    package let fieldKeys: Set<String>
    private let filter: FilterTree

    /// Checks and normalizes a query.
    ///
    /// - Throws: `QueryError` for a query that production refuses too.
    package init(_ query: Query) throws(QueryError) {
        self.query = query
        filter = try FilterTree(query.filter)
        guard filter.conditions.count + query.orders.count <= Self.maximumParts else {
            throw QueryError(
                "The query has \(filter.conditions.count + query.orders.count) filters and orders; up to "
                    + "\(Self.maximumParts) are allowed.")
        }
        disjunctions = try filter.disjunctions()
        orders = try Self.orders(of: query, conditions: filter.conditions)
        let paths = (filter.conditions.map(\.path) + orders.map(\.path)).filter { !$0.isDocumentName }
        fieldKeys = Set(paths.compactMap(\.segments.first))
        if let limit = query.limit, limit < 0 { throw QueryError("limit is negative") }
        guard query.offset >= 0 else { throw QueryError("offset is negative") }
        try check(query.start)
        try check(query.end)
        try checkPaths()
        if let nearest = query.findNearest { try nearest.check() }
    }

    /// Whether the document belongs to the results, apart from offset and limit.
    package func matches(_ document: Document) -> Bool {
        guard isInScope(document.name), orders.allSatisfy({ $0.path.isDocumentName || document[$0.path] != nil }),
            filter.holds({ document.queryValue(at: $0) })
        else { return false }
        if let start = query.start {
            let order = compare(document, to: start)
            guard start.before ? order >= 0 : order > 0 else { return false }
        }
        if let end = query.end {
            let order = compare(document, to: end)
            guard end.before ? order < 0 : order <= 0 else { return false }
        }
        return true
    }

    /// Whether the query searches the collection that contains `name`.
    package func isInScope(_ name: DocumentName) -> Bool {
        let parent = query.parent
        guard parent.database == name.database else { return false }
        if isKindless { return parent.isAncestor(of: name) }
        let id = query.collectionID ?? ""
        if query.allDescendants { return parent.isAncestor(of: name) && UTF8Order.areEqual(name.collectionID, id) }
        return UTF8Order.areEqual(name.collectionPath, parent.collectionPath(id))
    }

    /// Whether the query searches all collections below the parent. That is the case without a
    /// collection id, independent of `allDescendants`.
    package var isKindless: Bool { query.collectionID?.isEmpty ?? true }

    /// Returns a negative number, zero or a positive number if `left` comes before, with or after
    /// `right` in the results. Zero only for the same document.
    package func compare(_ left: Document, _ right: Document) -> Int {
        for order in orders {
            let answer =
                if order.path.isDocumentName {
                    DocumentName.compare(left.name, right.name)
                } else {
                    Value.compare(left[order.path] ?? .null, right[order.path] ?? .null)
                }
            if answer != 0 { return order.descending ? -answer : answer }
        }
        return 0
    }

    /// Compares `document` with the position of `cursor`, ignoring the cursor's `before`.
    package func compare(_ document: Document, to cursor: Query.Cursor) -> Int {
        for (order, value) in zip(orders, cursor.values) {
            let answer = Value.compare(document.queryValue(at: order.path) ?? .null, value)
            if answer != 0 { return order.descending ? -answer : answer }
        }
        return 0
    }

    // MARK: - Normal form

    private static func orders(of query: Query, conditions: [Condition]) throws(QueryError) -> [Query.Order] {
        var orders = query.orders
        if let name = orders.firstIndex(where: \.path.isDocumentName), name != orders.count - 1 {
            throw QueryError("order by clause cannot contain more fields after the key")
        }
        guard Set(orders.map(\.path)).count == orders.count else {
            throw QueryError("order by clause cannot contain duplicate fields")
        }
        let inequalities = Set(conditions.filter(\.isInequality).map(\.path))
        guard inequalities.count <= maximumInequalityFields else {
            throw QueryError("The query has inequality filters on \(inequalities.count) fields; up to 10 are allowed.")
        }
        let descending = orders.last?.descending ?? false
        if orders.last?.path.isDocumentName ?? false { return orders }
        let missing = inequalities.subtracting(orders.map(\.path)).subtracting([.documentName])
        orders += missing.sorted().map { Query.Order($0, descending: descending) }
        return orders + [Query.Order(.documentName, descending: descending)]
    }

    private func check(_ cursor: Query.Cursor?) throws(QueryError) {
        guard let cursor else { return }
        guard cursor.values.count <= orders.count else { throw QueryError("Cursor has too many values.") }
        for (order, value) in zip(orders, cursor.values) where order.path.isDocumentName {
            guard case .reference(let name) = value, (try? DocumentName(parsing: name)) != nil else {
                throw QueryError("Cursor value for __name__ must be the reference of a document.")
            }
        }
    }

    private func checkPaths() throws(QueryError) {
        let paths = filter.conditions.map(\.path) + query.orders.map(\.path) + (query.projection ?? [])
        for path in paths where !path.isDocumentName {
            if let reserved = path.segments.first(where: { DocumentName.isReserved($0[...]) }) {
                throw QueryError("Invalid reserved name in field path \(reserved)")
            }
        }
        if let id = query.collectionID {
            guard id.utf8.count <= 1500 else { throw QueryError("The query kind is longer than 1500 bytes.") }
            guard id.isEmpty || !id.utf8.contains(UInt8(ascii: "/")) else {
                throw QueryError("Collection id \"\(id)\" is invalid because it contains \"/\".")
            }
            guard !DocumentName.isReserved(id[...]) else {
                throw QueryError("Collection id \"\(id)\" is invalid because it is reserved.")
            }
        }
    }
}

extension Document {
    /// Returns the value that filters, orders and cursors see: `__name__` is a reference to the
    /// document itself.
    package func queryValue(at path: FieldPath) -> Value? {
        path.isDocumentName ? .reference(name.description) : self[path]
    }
}

extension ParentName {
    /// Whether a document is below this place, at any depth.
    package func isAncestor(of name: DocumentName) -> Bool {
        guard !path.isEmpty else { return database == name.database }
        return database == name.database && name.path.utf8.starts(with: "\(path)/".utf8)
    }
}

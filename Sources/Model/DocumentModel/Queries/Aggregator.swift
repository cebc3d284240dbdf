/// Counts, sums and averages over the results of a query, added one document at a time.
///
/// As in production, which reads an index with the summed and averaged fields, a document that
/// lacks one of these fields is ignored by all aggregations and by the query's offset and limit.
/// The results are ordered by the query's orders, then by these fields.
package struct Aggregator: Sendable {
    package static let maximumAggregations = 5

    private struct Sum {
        /// The sum of integers. It is exact: no number of documents overflows 128 bits.
        var integers: Int128 = 0
        var doubles = 0.0
        var hasDoubles = false
        var count = 0

        var total: Double { Double(integers) + doubles }

        mutating func add(_ value: Value) {
            switch value {
            case .integer(let value): integers += Int128(value)
            case .double(let value):
                doubles += value
                hasDoubles = true
            default: return
            }
            count += 1
        }
    }

    /// The query to run. Add its results in order until `isComplete`.
    package let query: Query
    /// The numbers of documents with all fields to skip, and then to take, if the query does not do
    /// so itself.
    private var offset: Int32
    private let limit: Int64
    private let aggregations: [(alias: String, operation: Query.Aggregation.Operation)]
    private let requiredFields: [FieldPath]
    private var sums: [FieldPath: Sum] = [:]
    private var count: Int64 = 0

    /// Creates an aggregator.
    ///
    /// - Throws: `QueryError` for no or too many aggregations, duplicate aliases, an aggregation of
    ///   `__name__`, or an invalid query.
    package init(_ aggregations: [Query.Aggregation], of query: Query) throws(QueryError) {
        guard !aggregations.isEmpty else { throw QueryError("Aggregations can not be empty.") }
        guard aggregations.count <= Self.maximumAggregations else {
            throw QueryError(
                "The maximum number of aggregations allowed in an aggregation query is \(Self.maximumAggregations). "
                    + "Received: \(aggregations.count)")
        }
        var named: [(alias: String, operation: Query.Aggregation.Operation)] = []
        var unnamed = 0
        var aliases = Set<String>()
        var fields = Set<FieldPath>()
        for aggregation in aggregations {
            var alias = aggregation.alias
            if alias.isEmpty {
                unnamed += 1
                alias = "field_\(unnamed)"
            }
            guard aliases.insert(alias).inserted else {
                throw QueryError("Aggregation aliases contain duplicate alias: \(alias).")
            }
            switch aggregation.operation {
            case .count(let upTo):
                if let upTo, upTo <= 0 { throw QueryError("Count.up_to must be greater than 0.") }
            case .sum(let path), .average(let path):
                guard !path.isDocumentName else {
                    throw QueryError("Aggregations are not supported for the property: __key__")
                }
                fields.insert(path)
            }
            named.append((alias, aggregation.operation))
        }
        self.aggregations = named
        requiredFields = fields.sorted()
        for path in fields { sums[path] = Sum() }
        let plan = try QueryPlan(query)
        var query = query
        var rest = (offset: Int32(0), limit: Int64.max)
        if !requiredFields.isEmpty, query.limit != nil || query.offset > 0 {
            if let orders = Self.orders(of: plan, and: requiredFields) {
                query.orders = orders
            } else {
                rest = (query.offset, query.limit.map(Int64.init) ?? .max)
                (query.offset, query.limit) = (0, nil)
            }
        }
        self.query = query
        (offset, limit) = rest
    }

    /// Returns orders that restrict the results to documents with the fields. Returns nil if the
    /// query refers to a position in its own order, by `__name__` or a cursor, that these orders
    /// would change.
    private static func orders(of plan: QueryPlan, and fields: [FieldPath]) -> [Query.Order]? {
        let query = plan.query
        let cursors = [query.start, query.end].compactMap { $0?.values.count }
        guard query.orders.last?.path.isDocumentName != true, cursors.allSatisfy({ $0 < plan.orders.count }) else {
            return nil
        }
        let orders = plan.orders.filter { !$0.path.isDocumentName }
        let descending = orders.last?.descending ?? false
        let missing = fields.filter { field in !orders.contains { $0.path == field } }
        return orders + missing.map { Query.Order($0, descending: descending) }
    }

    /// Whether only counts are requested, so that a store can count without reading documents.
    package var countsOnly: Bool { requiredFields.isEmpty }

    /// Whether further documents would not change the results: the limit, or the cap of every
    /// count, is reached.
    package var isComplete: Bool {
        count >= limit
            || aggregations.allSatisfy { if case .count(let upTo?) = $0.operation { count >= upTo } else { false } }
    }

    package mutating func add(_ document: Document) {
        var values: [Value] = []
        for path in requiredFields {
            guard let value = document[path] else { return }
            values.append(value)
        }
        guard offset == 0 else {
            offset -= 1
            return
        }
        guard count < limit else { return }
        count += 1
        for (path, value) in zip(requiredFields, values) { sums[path]?.add(value) }
    }

    /// Adds a number of documents without reading them. Only valid if `countsOnly`.
    package mutating func add(count more: Int64) { count += more }

    /// Returns one value per alias.
    ///
    /// Counts and integer sums are integers (a sum outside of Int64's range is a double). Averages
    /// are doubles, or null if there are no numbers.
    package func results() -> [String: Value] {
        var results: [String: Value] = [:]
        for (alias, operation) in aggregations {
            switch operation {
            case .count(let upTo): results[alias] = .integer(min(count, upTo ?? .max))
            case .sum(let path):
                let sum = sums[path] ?? Sum()
                results[alias] =
                    if !sum.hasDoubles, let exact = Int64(exactly: sum.integers) { .integer(exact) } else {
                        .double(sum.total)
                    }
            case .average(let path):
                let sum = sums[path] ?? Sum()
                results[alias] = sum.count == 0 ? .null : .double(sum.total / Double(sum.count))
            }
        }
        return results
    }
}

/// Counts, sums and averages over the results of a query, one document at a time.
///
/// As in production, which reads an index that has the summed and averaged fields, a document that lacks one of them takes
/// part in none of the aggregations, nor in the query's offset and limit; and the results are ordered by these fields after
/// what the query itself orders by.
package struct Aggregator: Sendable {
    package static let maximumAggregations = 5

    private struct Sum {
        /// Exact: no number of documents overflows 128 bits.
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

    /// The query to run: its results are to be added, in order, until `isComplete`.
    package let query: Query
    /// How many documents that have all fields are passed over, and then taken; where the query does not do it.
    private var offset: Int32
    private let limit: Int64
    private let aggregations: [(alias: String, operation: Query.Aggregation.Operation)]
    private let requiredFields: [FieldPath]
    private var sums: [FieldPath: Sum] = [:]
    private var count: Int64 = 0

    /// - Throws: `QueryError` for none or too many aggregations, equal aliases, or one over `__name__`, and for a query that is
    ///   not valid.
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

    /// The orders that leave only documents with the fields; nil where the query names a place in its order that they would
    /// move, by `__name__`.
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

    /// Whether only counts are asked for, so that a store may count without reading documents.
    package var countsOnly: Bool { requiredFields.isEmpty }

    /// Whether more documents would change nothing: the limit is reached, or all counts are at their caps.
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

    /// Counts documents that nobody needs to read; only with `countsOnly`.
    package mutating func add(count more: Int64) { count += more }

    /// One value an alias: counts and integer sums as integers (a sum over Int64's range as a double), averages as doubles or, of
    /// nothing, null.
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

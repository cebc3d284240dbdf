/// Counts, sums and averages over the results of a query, one document at a time.
///
/// As in production's index semantics, a document that lacks a summed or averaged field takes part in none of the aggregations.
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

    private let aggregations: [(alias: String, operation: Query.Aggregation.Operation)]
    private let requiredFields: [FieldPath]
    private var sums: [FieldPath: Sum] = [:]
    private var count: Int64 = 0

    /// - Throws: `QueryError` for none or too many aggregations, equal aliases, or one over `__name__`.
    package init(_ aggregations: [Query.Aggregation]) throws(QueryError) {
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
    }

    /// Whether only counts are asked for, so that a store may count without reading documents.
    package var countsOnly: Bool { requiredFields.isEmpty }

    /// Whether more documents would change nothing: all counts are at their caps.
    package var isComplete: Bool {
        aggregations.allSatisfy { if case .count(let upTo?) = $0.operation { count >= upTo } else { false } }
    }

    package mutating func add(_ document: Document) {
        var values: [Value] = []
        for path in requiredFields {
            guard let value = document[path] else { return }
            values.append(value)
        }
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

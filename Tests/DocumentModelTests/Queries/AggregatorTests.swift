import Testing

@testable import DocumentModel

@Suite struct AggregatorTests {
    private static let query = Query(parent: ParentName(DatabaseName(project: "p")), collectionID: "c")

    private let sample = QuerySample()

    private func aggregate(_ operations: [Query.Aggregation.Operation], _ values: [Value?]) throws -> [Value?] {
        var aggregator = try Aggregator(operations.map { Query.Aggregation(alias: "", $0) }, of: Self.query)
        for document in try sample.documents(values) { aggregator.add(document) }
        let results = aggregator.results()
        return operations.indices.map { results["field_\($0 + 1)"] }
    }

    @Test func `count, sum and average of numbers`() throws {
        let values: [Value?] = [.integer(1), .integer(2), .string("x"), .integer(6)]
        #expect(
            try aggregate([.count(upTo: nil), .sum(.f), .average(.f)], values) == [
                .integer(4), .integer(9), .double(3),
            ])
        #expect(try aggregate([.sum(.f), .average(.f)], []) == [.integer(0), .null])
        #expect(
            try aggregate([.sum(.f), .average(.f)], [.integer(1), .double(0.5)]) == [.double(1.5), .double(0.75)])
        #expect(try aggregate([.sum(.f)], [.integer(1), .double(.nan)]) == [.double(.nan)])
    }

    @Test func `an integer sum over the range is a double, one that comes back into it is exact`() throws {
        #expect(try aggregate([.sum(.f)], [.integer(.max), .integer(1)]) == [.double(9.223372036854775808e18)])
        #expect(try aggregate([.sum(.f)], [.integer(.max), .integer(1), .integer(-2)]) == [.integer(.max - 1)])
    }

    @Test func `a document without a summed field is not counted either`() throws {
        #expect(try aggregate([.count(upTo: nil), .sum(.f)], [.integer(1), nil]) == [.integer(1), .integer(1)])
        #expect(try aggregate([.count(upTo: nil)], [.integer(1), nil]) == [.integer(2)])
        #expect(try aggregate([.count(upTo: 2)], [nil, nil, nil]) == [.integer(2)])
    }

    @Test func `a limited query orders by the summed fields, after its own orders`() throws {
        let (f, g) = (FieldPath(key: "f"), FieldPath(key: "g"))
        func orders(_ change: (inout Query) -> Void) throws -> [Query.Order] {
            var query = Self.query
            query.limit = 2
            change(&query)
            return try Aggregator([Query.Aggregation(alias: "", .sum(f))], of: query).query.orders
        }
        #expect(try orders { _ in } == [Query.Order(f)])
        #expect(
            try orders { $0.orders = [Query.Order(g, descending: true)] } == [
                Query.Order(g, descending: true), Query.Order(f, descending: true),
            ])
        #expect(try orders { $0.filter = .field(g, .greaterThan, .integer(1)) } == [Query.Order(g), Query.Order(f)])
        #expect(try orders { $0.orders = [Query.Order(f)] } == [Query.Order(f)])
        // Without a limit the order makes no difference.
        #expect(try orders { $0.limit = nil } == [])
        #expect(try orders { ($0.limit, $0.offset) = (nil, 1) } == [Query.Order(f)])
    }

    @Test func `a query that is ordered by name is limited by the documents that have the field`() throws {
        var query = Self.query
        (query.offset, query.limit, query.orders) = (1, 2, [Query.Order(.documentName)])
        var aggregator = try Aggregator(
            [Query.Aggregation(alias: "n", .count(upTo: nil)), Query.Aggregation(alias: "s", .sum(.f))], of: query)
        #expect(aggregator.query.limit == nil && aggregator.query.offset == 0)
        for document in try sample.documents([nil, .integer(1), nil, .integer(2), .integer(4)]) {
            #expect(!aggregator.isComplete)
            aggregator.add(document)
        }
        #expect(aggregator.isComplete)
        for document in try sample.documents([.integer(8)]) { aggregator.add(document) }
        #expect(aggregator.results() == ["n": .integer(2), "s": .integer(6)])
    }

    @Test func `aggregations that cannot be are refused in production's words`() {
        func refusal(_ aggregations: [Query.Aggregation]) -> String? {
            #expect(throws: QueryError.self) { try Aggregator(aggregations, of: Self.query) }?.message
        }
        let count = Query.Aggregation(alias: "x", .count(upTo: nil))
        #expect(refusal([]) == "Aggregations can not be empty.")
        #expect(refusal([count, count]) == "Aggregation aliases contain duplicate alias: x.")
        #expect(
            refusal(Array(repeating: count, count: 6))
                == "The maximum number of aggregations allowed in an aggregation query is 5. Received: 6")
        #expect(
            refusal([Query.Aggregation(alias: "", .sum(.documentName))])
                == "Aggregations are not supported for the property: __key__")
    }
}

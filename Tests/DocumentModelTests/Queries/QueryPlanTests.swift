import Testing

@testable import DocumentModel

@Suite struct QueryPlanTests {
    private let sample = QuerySample()

    // MARK: - Orders

    @Test func `inequality fields and the name complete the order, in the last explicit direction`() throws {
        func orders(_ filter: Query.Filter?, _ explicit: [Query.Order]) throws -> [String] {
            try QueryPlan(sample.query(filter, orders: explicit)).orders.map {
                "\($0.path)\($0.descending ? " desc" : "")"
            }
        }
        let inequalities = Query.Filter.and([
            .field(.g, .greaterThan, .integer(1)), .field(.f, .lessThan, .integer(1)),
            .field(FieldPath(key: "e"), .equal, .null),
            .field(.documentName, .lessThan, sample.reference("c/a")),
        ])
        #expect(try orders(nil, []) == ["__name__"])
        #expect(try orders(inequalities, []) == ["f", "g", "__name__"])
        #expect(try orders(inequalities, [Query.Order(.g, descending: true)]) == ["g desc", "f desc", "__name__ desc"])
        #expect(
            try orders(nil, [Query.Order(.f, descending: true), Query.Order(.documentName)]) == ["f desc", "__name__"])
        #expect(try orders(.unary(.f, .isNotNull), []) == ["f", "__name__"])
        #expect(try orders(.unary(.f, .isNull), []) == ["__name__"])
    }

    @Test func `a document without an ordered field is not a result, one with null is`() throws {
        let documents = try sample.documents([.integer(2), nil, .null, .string("x"), .integer(1)])
        #expect(try sample.ids(sample.query(orders: [Query.Order(.f)]), among: documents) == ["02", "04", "00", "03"])
        let descending = sample.query(orders: [Query.Order(.f, descending: true)])
        #expect(try sample.ids(descending, among: documents) == ["03", "00", "04", "02"])
    }

    @Test func `ties are in the order of names, in the direction of the last order`() throws {
        let documents = try sample.documents([.integer(1), .double(1), .integer(1)])
        #expect(
            try sample.ids(sample.query(orders: [Query.Order(.f, descending: true)]), among: documents) == [
                "02", "01", "00",
            ])
    }

    // MARK: - Cursors, offset and limit

    @Test(
        arguments: [
            (Query.Cursor([.integer(2)], before: true), nil, ["02", "03", "04"]),
            (Query.Cursor([.integer(2)], before: false), nil, ["04"]),
            (nil, Query.Cursor([.integer(2)], before: true), ["00", "01"]),
            (nil, Query.Cursor([.integer(2)], before: false), ["00", "01", "02", "03"]),
            (Query.Cursor([.string("")], before: true), nil, []),
            (Query.Cursor([.null], before: true), nil, ["00", "01", "02", "03", "04"]),
            (Query.Cursor([.double(1)], before: false), Query.Cursor([.integer(3)], before: true), ["02", "03"]),
            (Query.Cursor([], before: true), nil, ["00", "01", "02", "03", "04"]),
        ] as [(Query.Cursor?, Query.Cursor?, [String])])
    func `a cursor starts or ends at a prefix of the order`(
        start: Query.Cursor?, end: Query.Cursor?, expected: [String]
    )
        throws
    {
        let documents = try sample.documents([.integer(0), .integer(1), .integer(2), .double(2), .integer(3)])
        var query = sample.query(orders: [Query.Order(.f)])
        query.start = start
        query.end = end
        #expect(try sample.ids(query, among: documents) == expected)
    }

    @Test func `a cursor may name the document, also in descending order`() throws {
        let documents = try sample.documents([.integer(1), .integer(1), .integer(1)])
        var query = sample.query(orders: [Query.Order(.f, descending: true)])
        query.start = Query.Cursor([.integer(1), sample.reference("c/01")], before: false)
        #expect(try sample.ids(query, among: documents) == ["00"])
    }

    @Test func `offset and limit cut the sorted results, and the number of skipped results is returned`() throws {
        let documents = try sample.documents([.integer(2), .integer(1), .integer(0)])
        var query = sample.query(orders: [Query.Order(.f)])
        query.offset = 1
        query.limit = 1
        let results = try QueryPlan(query).results(among: documents)
        #expect(results.documents.map(\.name.id) == ["01"] && results.skipped == 1)
        query.offset = 9
        #expect(try QueryPlan(query).results(among: documents).skipped == 3)
        query.offset = 0
        query.limit = 0
        #expect(try sample.ids(query, among: documents) == [])
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a cursor at any result splits the results there`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let documents = try (0..<20).map { try sample.document("c/\($0)", generator.fields()) }
        let orders = [
            Query.Order(FieldPath(key: "a"), descending: .random(using: &generator.random)),
            Query.Order(FieldPath(key: "b")),
        ]
        let all = try sample.ids(sample.query(orders: orders), among: documents)
        for (index, id) in all.enumerated() {
            guard let document = documents.first(where: { $0.name.id == id }) else { continue }
            var query = sample.query(orders: orders)
            let values = try QueryPlan(query).orders.map { document.queryValue(at: $0.path) ?? .null }
            query.start = Query.Cursor(values, before: true)
            #expect(try sample.ids(query, among: documents) == Array(all[index...]), "seed \(seed)")
            query.start = nil
            query.end = Query.Cursor(values, before: true)
            #expect(try sample.ids(query, among: documents) == Array(all[..<index]), "seed \(seed)")
        }
    }

    // MARK: - Scope

    @Test func `a query sees its collection, its group or everything below its parent`() throws {
        let documents = try ["c/a", "c/a/c/b", "c/a/d/e", "d/f", "d/f/c/g", "cc/h"].map { try sample.document($0) }
        let below = ParentName(try DocumentName(database: sample.database, path: "c/a"))
        func ids(_ parent: ParentName, _ collection: String?, all: Bool) throws -> [String] {
            try sample.ids(Query(parent: parent, collectionID: collection, allDescendants: all), among: documents)
        }
        #expect(try ids(sample.root, "c", all: false) == ["a"])
        #expect(try ids(sample.root, "c", all: true) == ["a", "b", "g"])
        #expect(try ids(sample.root, nil, all: true) == ["a", "b", "e", "h", "f", "g"])
        #expect(try ids(below, "c", all: false) == ["b"])
        #expect(try ids(below, "c", all: true) == ["b"])
        #expect(try ids(below, nil, all: true) == ["b", "e"])
    }

    @Test func `recursive reads of the official client find everything below one collection`() throws {
        let documents = try ["c/a", "c/a/x/b", "c!/d", "b/e"].map { try sample.document($0) }
        var query = Query(
            parent: sample.root, collectionID: nil, allDescendants: true, orders: [Query.Order(.documentName)])
        query.start = Query.Cursor([sample.reference("c/__id-9223372036854775808__")], before: true)
        query.end = Query.Cursor([sample.reference("c\u{0}/__id-9223372036854775808__")], before: false)
        #expect(try sample.ids(query, among: documents) == ["a", "b"])
    }

    // MARK: - Projection and vectors

    @Test func `a projection keeps the selected fields in their maps`() throws {
        let document = try sample.document(
            "c/a", ["a": .map(["x": .integer(1), "y": .integer(2)]), "b": .null, "c": .null])
        var query = sample.query()
        query.projection = [try FieldPath(["a", "x"]), FieldPath(key: "b"), FieldPath(key: "no")]
        #expect(try QueryPlan(query).project(document).fields == ["a": .map(["x": .integer(1)]), "b": .null])
        query.projection = [.documentName]
        #expect(try QueryPlan(query).project(document).fields == [:])
    }

    @Test func `the nearest vectors come first, with their distance`() throws {
        func vector(_ elements: [Double]) -> Value {
            .map(["__type__": .string("__vector__"), "value": .array(elements.map { .double($0) })])
        }
        let documents = try sample.documents([
            vector([3, 4]), vector([1, 0]), vector([1]), vector([-1, 0]), .null, vector([0, 0]),
        ])
        func search(_ measure: Query.FindNearest.Measure, threshold: Double? = nil) throws -> [String] {
            var query = sample.query()
            query.findNearest = Query.FindNearest(
                vectorField: .f, queryVector: [1, 0], measure: measure, limit: 3, distanceResultField: .g,
                distanceThreshold: threshold)
            query.projection = [.documentName]
            return try QueryPlan(query).results(among: documents).documents.map {
                guard case .double(let distance)? = $0[.g] else { return "none" }
                return "\($0.name.id): \(distance)"
            }
        }
        #expect(try search(.euclidean) == ["01: 0.0", "05: 1.0", "03: 2.0"])
        #expect(try search(.euclidean, threshold: 1) == ["01: 0.0", "05: 1.0"])
        #expect(try search(.dotProduct) == ["00: 3.0", "01: 1.0", "05: 0.0"])
        #expect(try search(.dotProduct, threshold: 1) == ["00: 3.0", "01: 1.0"])
        #expect(try search(.cosine) == ["01: 0.0", "00: 0.4", "03: 2.0"])
    }

    // MARK: - Refusals

    @Test func `a query that cannot be run is refused in production's words`() {
        func refusal(_ change: (inout Query) -> Void) -> String? {
            var query = sample.query()
            change(&query)
            return #expect(throws: QueryError.self) { try QueryPlan(query) }?.message
        }
        #expect(refusal { $0.limit = -1 } == "limit is negative")
        #expect(refusal { $0.offset = -1 } == "offset is negative")
        #expect(refusal { $0.start = Query.Cursor([.null, .null], before: true) } == "Cursor has too many values.")
        #expect(
            refusal { $0.orders = [Query.Order(.documentName), Query.Order(.f)] }
                == "order by clause cannot contain more fields after the key")
        #expect(refusal { $0.end = Query.Cursor([.string("c/a")], before: true) }?.contains("__name__") == true)
        #expect(refusal { $0.collectionID = "a/b" } == "Collection id \"a/b\" is invalid because it contains \"/\".")
        #expect(refusal { $0.collectionID = "__x__" } == "Collection id \"__x__\" is invalid because it is reserved.")
        let inequalities = (0..<11).map { Query.Filter.field(FieldPath(key: "f\($0)"), .greaterThan, .integer(0)) }
        #expect(refusal { $0.filter = .and(inequalities) } != nil)
    }
}

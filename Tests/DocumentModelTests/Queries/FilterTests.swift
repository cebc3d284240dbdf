import Testing

@testable import DocumentModel

@Suite struct FilterTests {
    private let sample = QuerySample()

    /// The values by index: 0 missing, 1 null, 2 NaN, 3 int, 4 double equal to it, 5 greater
    /// double, 6 string, 7 array, 8 map.
    private static let values: [Value?] = [
        nil, .null, .double(.nan), .integer(3), .double(3), .double(3.5), .string("x"),
        .array([.integer(3), .null, .double(.nan), .array([])]), .map(["a": .integer(3), "b": .null]),
    ]

    @Test(
        arguments: [
            (.equal, .double(3), [3, 4]), (.equal, .null, []), (.equal, .double(.nan), []), (.equal, .string("x"), [6]),
            (.equal, .map(["b": .null, "a": .double(3)]), [8]),
            (.lessThan, .integer(4), [3, 4, 5]), (.lessThan, .double(3.5), [3, 4]),
            (.lessThanOrEqual, .double(3.5), [3, 4, 5]),
            (.greaterThan, .integer(3), [5]), (.greaterThanOrEqual, .integer(3), [3, 4, 5]),
            (.greaterThanOrEqual, .string(""), [6]),
            (.greaterThan, .null, []), (.greaterThan, .double(.nan), []), (.greaterThanOrEqual, .array([]), [7]),
            (.notEqual, .integer(3), [2, 5, 6, 7, 8]), (.notEqual, .null, []),
            (.in, .array([.integer(3), .string("x"), .null, .double(.nan)]), [3, 4, 6]),
            (.notIn, .array([.integer(3), .string("x")]), [2, 5, 7, 8]), (.notIn, .array([.integer(3), .null]), []),
            (.arrayContains, .double(3), [7]), (.arrayContains, .null, []), (.arrayContains, .double(.nan), []),
            (.arrayContainsAny, .array([.string("no"), .integer(3)]), [7]), (.arrayContainsAny, .array([.null]), []),
        ] as [(Query.FieldOperator, Value, [Int])])
    func `a field filter matches`(fieldOperator: Query.FieldOperator, operand: Value, expected: [Int]) throws {
        let documents = try sample.documents(Self.values)
        let ids = try sample.ids(sample.query(.field(.f, fieldOperator, operand)), among: documents)
        #expect(Set(ids) == Set(expected.map { "0\($0)" }))
    }

    @Test(
        arguments: [
            (.isNull, [1]), (.isNotNull, [2, 3, 4, 5, 6, 7, 8]), (.isNaN, [2]), (.isNotNaN, [3, 4, 5, 6, 7, 8]),
        ] as [(Query.UnaryOperator, [Int])])
    func `a unary filter matches`(unaryOperator: Query.UnaryOperator, expected: [Int]) throws {
        let documents = try sample.documents(Self.values)
        let ids = try sample.ids(sample.query(.unary(.f, unaryOperator)), among: documents)
        #expect(Set(ids) == Set(expected.map { "0\($0)" }))
    }

    @Test func `and, or and empty composites nest`() throws {
        let documents = try sample.documents(Self.values)
        let isThree = Query.Filter.field(.f, .equal, .integer(3))
        let isX = Query.Filter.field(.f, .equal, .string("x"))
        #expect(
            try sample.ids(sample.query(.or([isThree, .and([isX, .or([])])])), among: documents) == ["03", "04", "06"])
        #expect(try sample.ids(sample.query(.and([isThree, isX])), among: documents) == [])
        #expect(try sample.ids(sample.query(.and([])), among: documents).count == 9)
        #expect(try sample.ids(sample.query(.or([])), among: documents).count == 9)
    }

    @Test func `names are filtered by reference`() throws {
        let documents = try sample.documents(Self.values)
        let after = Query.Filter.field(.documentName, .greaterThan, sample.reference("c/06"))
        #expect(try sample.ids(sample.query(after), among: documents) == ["07", "08"])
        let some = Query.Filter.field(.documentName, .in, .array([sample.reference("c/01"), sample.reference("d/02")]))
        #expect(try sample.ids(sample.query(some), among: documents) == ["01"])
    }

    @Test(
        arguments: [
            (.field(.f, .in, .integer(1)), "'IN' requires an ArrayValue."),
            (.field(.f, .in, .array([])), "'IN' requires an non-empty ArrayValue."),
            (.field(.f, .in, .array(Array(repeating: .null, count: 31))), "'IN' supports up to 30 comparison values."),
            (
                .field(.f, .notIn, .array(Array(repeating: .null, count: 11))),
                "'NOT_IN' supports up to 10 comparison values."
            ),
            (.field(.documentName, .equal, .string("x")), "__key__ filter value must be a Key"),
            (
                .and([.field(.f, .notEqual, .integer(1)), .unary(.g, .isNotNull)]),
                "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query."
            ),
            (
                .and([.field(.f, .notIn, .array([.null])), .field(.g, .in, .array([.null]))]),
                "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'."
            ),
            (
                .and([.field(.f, .arrayContains, .null), .field(.g, .arrayContainsAny, .array([.null]))]),
                "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction."
            ),
            (.unary(FieldPath(key: "__x__"), .isNull), "Invalid reserved name in field path __x__"),
        ] as [(Query.Filter, String)])
    func `a filter that production refuses is refused in its words`(filter: Query.Filter, message: String) {
        #expect(throws: QueryError(message)) { try QueryPlan(sample.query(filter)) }
    }

    @Test func `up to 30 disjunctions, counted without building them`() throws {
        let six = Query.Filter.field(.f, .in, .array((0..<6).map { .integer($0) }))
        let five = Query.Filter.field(.g, .in, .array((0..<5).map { .integer($0) }))
        #expect(try QueryPlan(sample.query(.and([six, five]))).disjunctions.count == 30)
        #expect(throws: QueryError.self) { try QueryPlan(sample.query(.and([six, six]))) }
        let explosive = Query.Filter.and(Array(repeating: six, count: 90))
        #expect(throws: QueryError.self) { try QueryPlan(sample.query(explosive)) }
        let many = Query.Filter.and(Array(repeating: .field(.f, .equal, .null), count: 10_000))
        #expect(throws: QueryError.self) { try QueryPlan(sample.query(many)) }
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `the normal form means the same as the filter`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let filter = Self.filter(&generator, depth: 0)
        guard let plan = try? QueryPlan(sample.query(filter)) else { return }
        for _ in 0..<50 {
            let document = try sample.document("c/a", generator.fields())
            let inOrder = plan.orders.allSatisfy { $0.path.isDocumentName || document[$0.path] != nil }
            let byDisjunction = plan.disjunctions.contains { conjunction in
                conjunction.allSatisfy { $0.holds(for: document[$0.path]) }
            }
            #expect(plan.matches(document) == (byDisjunction && inOrder), "seed \(seed): \(filter) \(document.fields)")
        }
    }

    private static func filter(_ generator: inout ValueGenerator, depth: Int) -> Query.Filter {
        let path = FieldPath(key: generator.pick(["a", "b", "c"]))
        switch Int.random(in: 0..<(depth < 3 ? 6 : 4), using: &generator.random) {
        case 0: return .unary(path, generator.pick([.isNull, .isNaN]))
        case 1:
            return .field(
                path, generator.pick([.in, .arrayContainsAny]), .array([generator.value(), generator.value()]))
        case 2, 3: return .field(path, generator.pick([.equal, .lessThan, .greaterThanOrEqual]), generator.value())
        case 4: return .and([filter(&generator, depth: depth + 1), filter(&generator, depth: depth + 1)])
        default: return .or([filter(&generator, depth: depth + 1), filter(&generator, depth: depth + 1)])
        }
    }
}

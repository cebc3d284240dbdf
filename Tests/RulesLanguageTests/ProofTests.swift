import DocumentModel
import RulesLanguage
import Testing

/// Tests the law of queries: if rules allow a query, the condition is true for every document that
/// the query finds.
@Suite struct ProofTests {
    private static let values: [Value] = [
        .integer(1), .integer(3), .double(1), .double(2.5), .string("a"), .string("b"), .null, .boolean(true),
        .array([.integer(1)]), .array([.double(1), .string("a")]), .map(["x": .integer(1)]), .map(["x": .string("a")]),
    ]
    private static let operands = [
        "resource.data.p", "resource.data.q", "resource.data.p.x", "resource.data.get('q', 'a')", "1", "1.0", "2.5",
        "3", "'a'",
        "'b'", "null", "true", "[1]", "[resource.data.p]", "[resource.data.q, 'a']", "{'x': resource.data.p}",
        "{'x': 1}",
        "[1, 'a']", "resource.data.p[0]", "resource.data.keys()", "'p'", "resource.data",
    ]

    @Test(arguments: 0..<8) func allowedQueriesFindOnlyAllowedDocuments(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var (allowed, checked) = (0, 0)
        for _ in 0..<4000 {
            let condition = condition(depth: 2, &random)
            guard let rules = try? Sample.rules(condition) else { continue }
            let query = query(&random)
            guard let plan = try? QueryPlan(query),
                rules.decide(RulesRequest(query, by: Sample.ann, at: Sample.time)) == .allowed
            else { continue }
            allowed += 1
            for _ in 0..<20 {
                let document = try Sample.document("docs/one", fields(query, &random))
                guard plan.matches(document) else { continue }
                checked += 1
                let request = RulesRequest(.get, document.name, by: Sample.ann, at: Sample.time, before: document)
                #expect(
                    rules.decide(request) == .allowed, "\(condition) for \(document.fields), by \(query.filter as Any)")
            }
        }
        #expect(allowed > 200 && checked > 200, "\(allowed) queries, \(checked) documents")
    }

    private func condition(depth: Int, _ random: inout SplitMix) -> String {
        let operand = { (random: inout SplitMix) in Self.operands.randomElement(using: &random) ?? "1" }
        switch Int.random(in: 0..<(depth > 0 ? 14 : 10), using: &random) {
        case 0, 1, 2:
            let test = ["==", "!=", "<", ">=", "in"].randomElement(using: &random) ?? "=="
            return "\(operand(&random)) \(test) \(operand(&random))"
        case 3: return "\(operand(&random)) == \(operand(&random))"
        case 4, 5:
            let type = ["int", "number", "string", "list", "map", "float"].randomElement(using: &random) ?? "int"
            return "\(operand(&random)) is \(type)"
        case 6:
            let test = ["hasAny", "hasAll", "hasOnly"].randomElement(using: &random) ?? "hasAny"
            return "\(operand(&random)).\(test)(\(operand(&random)))"
        case 7: return "\(operand(&random)).size() == \(Int.random(in: 0...2, using: &random))"
        case 8: return "\(operand(&random)).toSet().hasOnly(\(operand(&random)))"
        case 9: return "{'x': 1}.diff({'x': \(operand(&random))}).changedKeys().size() == 0"
        case 10, 11: return "!(\(condition(depth: depth - 1, &random)))"
        case 12:
            return "(\(condition(depth: depth - 1, &random)) && \(condition(depth: depth - 1, &random)))"
        default: return "(\(condition(depth: depth - 1, &random)) || \(condition(depth: depth - 1, &random)))"
        }
    }

    private func query(_ random: inout SplitMix) -> Query {
        let tests: [Query.FieldOperator] = [
            .equal, .equal, .equal, .lessThan, .greaterThanOrEqual, .notEqual, .arrayContains, .in, .notIn,
        ]
        let filters = (0..<Int.random(in: 1...2, using: &random)).map { _ in
            let path = [["p"], ["q"], ["p", "x"]].randomElement(using: &random) ?? ["p"]
            let test = tests.randomElement(using: &random) ?? .equal
            let value = Self.values.randomElement(using: &random) ?? .null
            let operand = test == .in || test == .notIn ? Value.array([value, .integer(1)]) : value
            return Query.Filter.field((try? FieldPath(path)) ?? FieldPath(key: "p"), test, operand)
        }
        return Query(parent: ParentName(Sample.database), collectionID: "docs", filter: .and(filters))
    }

    /// Returns fields, often those that the query demands, with numbers of either type.
    private func fields(_ query: Query, _ random: inout SplitMix) -> [String: Value] {
        var fields: [String: Value] = [:]
        for key in ["p", "q"] where Int.random(in: 0..<5, using: &random) > 0 {
            fields[key] = Self.values.randomElement(using: &random)
        }
        guard case .and(let filters)? = query.filter else { return fields }
        for case .field(let path, let test, let value) in filters where Bool.random(using: &random) {
            switch (test, value) {
            case (.equal, .integer(let number)) where Bool.random(using: &random):
                fields.setValue(.double(Double(number)), at: path.segments[...])
            case (.equal, _): fields.setValue(value, at: path.segments[...])
            case (.arrayContains, _): fields.setValue(.array([value]), at: path.segments[...])
            case (.in, .array(let elements)): fields.setValue(elements.first, at: path.segments[...])
            default: break
            }
        }
        return fields
    }
}

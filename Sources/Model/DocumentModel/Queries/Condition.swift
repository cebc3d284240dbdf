/// One filter on one field, whose operands have been checked.
package struct Condition: Sendable, Hashable {
    package enum Test: Sendable, Hashable {
        case lessThan(Value)
        case lessThanOrEqual(Value)
        case greaterThan(Value)
        case greaterThanOrEqual(Value)
        case equal(Value)
        case notEqual(Value)
        case arrayContains(Value)
        case `in`([Value])
        case arrayContainsAny([Value])
        case notIn([Value])
        case isNaN
        case isNull
        case isNotNaN
        case isNotNull
    }

    package let path: FieldPath
    package let test: Test

    package init(_ path: FieldPath, _ test: Test) {
        self.path = path
        self.test = test
    }

    init(_ path: FieldPath, _ fieldOperator: Query.FieldOperator, _ operand: Value) throws(QueryError) {
        let test: Test =
            switch fieldOperator {
            case .lessThan: .lessThan(operand)
            case .lessThanOrEqual: .lessThanOrEqual(operand)
            case .greaterThan: .greaterThan(operand)
            case .greaterThanOrEqual: .greaterThanOrEqual(operand)
            case .equal: .equal(operand)
            case .notEqual: .notEqual(operand)
            case .arrayContains: .arrayContains(operand)
            case .in: .in(try Self.candidates(operand, of: "IN", limit: 30))
            case .arrayContainsAny:
                .arrayContainsAny(try Self.candidates(operand, of: "ARRAY_CONTAINS_ANY", limit: 30))
            case .notIn: .notIn(try Self.candidates(operand, of: "NOT_IN", limit: 10))
            }
        self.init(path, test)
        if path.isDocumentName { try checkNames() }
    }

    init(_ path: FieldPath, _ unaryOperator: Query.UnaryOperator) {
        let test: Test =
            switch unaryOperator {
            case .isNaN: .isNaN
            case .isNull: .isNull
            case .isNotNaN: .isNotNaN
            case .isNotNull: .isNotNull
            }
        self.init(path, test)
    }

    /// Whether the value of the field, nil if it is missing, satisfies the condition.
    ///
    /// A range matches only values of its operand's type. Null and NaN are matched only by the
    /// unary tests.
    package func holds(for value: Value?) -> Bool {
        guard let value else { return false }
        switch test {
        case .lessThan(let operand): return Self.range(value, operand) { $0 < 0 }
        case .lessThanOrEqual(let operand): return Self.range(value, operand) { $0 <= 0 }
        case .greaterThan(let operand): return Self.range(value, operand) { $0 > 0 }
        case .greaterThanOrEqual(let operand): return Self.range(value, operand) { $0 >= 0 }
        case .equal(let operand): return Self.equal(value, operand)
        case .notEqual(let operand):
            return operand != .null && value != .null && !value.isEqual(to: operand)
        case .arrayContains(let operand):
            return value.arrayValue.map { Self.contains($0, operand) } ?? false
        case .in(let candidates): return candidates.contains { Self.equal(value, $0) }
        case .arrayContainsAny(let candidates):
            guard let elements = value.arrayValue else { return false }
            return candidates.contains { Self.contains(elements, $0) }
        case .notIn(let candidates):
            return value != .null && !candidates.contains { $0 == .null || value.isEqual(to: $0) }
        case .isNaN: return value.isNaN
        case .isNull: return value == .null
        case .isNotNaN: return !value.isNaN && value != .null
        case .isNotNull: return value != .null
        }
    }

    /// Whether the condition adds its field to the order of the results: true for all tests except
    /// those for equality.
    package var isInequality: Bool {
        switch test {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn, .isNotNaN, .isNotNull:
            true
        case .equal, .arrayContains, .in, .arrayContainsAny, .isNaN, .isNull: false
        }
    }

    /// Whether the test is one that a query may contain only once.
    var isNegative: Bool {
        switch test {
        case .notEqual, .notIn, .isNotNaN, .isNotNull: true
        default: false
        }
    }

    /// The conditions whose disjunction is this condition: several for IN and ARRAY_CONTAINS_ANY,
    /// otherwise the condition itself.
    var alternatives: [Condition] {
        switch test {
        case .in(let candidates): candidates.map { Condition(path, .equal($0)) }
        case .arrayContainsAny(let candidates): candidates.map { Condition(path, .arrayContains($0)) }
        default: [self]
        }
    }

    private static func range(_ value: Value, _ operand: Value, _ holds: (Int) -> Bool) -> Bool {
        let typeClass = operand.typeClass
        guard typeClass != .null, typeClass != .nan, value.typeClass == typeClass else { return false }
        return holds(Value.compare(value, operand))
    }

    private static func equal(_ value: Value, _ operand: Value) -> Bool {
        operand != .null && !operand.isNaN && value.isEqual(to: operand)
    }

    private static func contains(_ elements: [Value], _ operand: Value) -> Bool {
        elements.contains { equal($0, operand) }
    }

    private static func candidates(_ operand: Value, of name: String, limit: Int) throws(QueryError) -> [Value] {
        guard case .array(let candidates) = operand else { throw QueryError("'\(name)' requires an ArrayValue.") }
        guard !candidates.isEmpty else { throw QueryError("'\(name)' requires an non-empty ArrayValue.") }
        guard candidates.count <= limit else {
            throw QueryError("'\(name)' supports up to \(limit) comparison values.")
        }
        return candidates
    }

    private func checkNames() throws(QueryError) {
        let operands: [Value] =
            switch test {
            case .in(let candidates), .arrayContainsAny(let candidates), .notIn(let candidates): candidates
            case .lessThan(let operand), .lessThanOrEqual(let operand), .greaterThan(let operand),
                .greaterThanOrEqual(let operand), .equal(let operand), .notEqual(let operand),
                .arrayContains(let operand):
                [operand]
            case .isNaN, .isNull, .isNotNaN, .isNotNull: []
            }
        for operand in operands {
            guard case .reference(let name) = operand, (try? DocumentName(parsing: name)) != nil else {
                throw QueryError("__key__ filter value must be a Key")
            }
        }
    }
}

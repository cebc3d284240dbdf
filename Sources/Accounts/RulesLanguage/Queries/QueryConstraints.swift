import DocumentModel

/// The conditions that hold for every document that one alternative of a query may return.
///
/// A query is divided into alternatives without "or" (`in` and `array-contains-any` are
/// alternatives, too). Rules allow the query if they allow each alternative.
struct QueryConstraints: Sendable {
    /// The most alternatives of a query, as production has it.
    static let alternativeLimit = 30

    private var known: [[String]: RuleValue] = [:]
    private var open: [[String]: [RuleValue.Unknown.Condition]] = [:]

    /// Divides a query into alternatives; nil if there are too many.
    static func alternatives(of query: Query) -> [QueryConstraints]? {
        var alternatives = [QueryConstraints()]
        if let filter = query.filter {
            guard let divided = divide(filter) else { return nil }
            alternatives = divided
        }
        // An order returns only documents that have the field.
        for order in query.orders where !order.path.isDocumentName {
            for index in alternatives.indices { alternatives[index].add(.exists, at: order.path) }
        }
        return alternatives
    }

    private static func divide(_ filter: Query.Filter) -> [QueryConstraints]? {
        switch filter {
        case .or(let parts):
            var all: [QueryConstraints] = []
            for part in parts {
                guard let divided = divide(part), all.count + divided.count <= alternativeLimit else { return nil }
                all += divided
            }
            return all
        case .and(let parts):
            var all = [QueryConstraints()]
            for part in parts {
                guard let divided = divide(part), all.count * divided.count <= alternativeLimit else { return nil }
                all = all.flatMap { left in divided.map { left.merged(with: $0) } }
            }
            return all
        case .unary(let path, let test):
            var one = QueryConstraints()
            switch test {
            case .isNull: one.set(.null, at: path)
            case .isNaN: one.known[path.segments] = .float(.nan)
            case .isNotNull: one.add(.notEqual(.null), at: path)
            case .isNotNaN: one.add(.exists, at: path)
            }
            return [one]
        case .field(let path, let test, let value): return divide(path, test, value)
        }
    }

    private static func divide(
        _ path: FieldPath, _ test: Query.FieldOperator, _ value: Value
    ) -> [QueryConstraints]? {
        var one = QueryConstraints()
        let converted = RuleValue(value)
        switch test {
        case .equal: one.set(value, at: path)
        case .lessThan: one.add(.less(converted), at: path)
        case .lessThanOrEqual: one.add(.lessOrEqual(converted), at: path)
        case .greaterThan: one.add(.greater(converted), at: path)
        case .greaterThanOrEqual: one.add(.greaterOrEqual(converted), at: path)
        case .notEqual: one.add(.notEqual(converted), at: path)
        case .arrayContains: one.add(.contains(converted), at: path)
        case .notIn:
            one.add(.exists, at: path)
            for element in value.arrayValue ?? [] { one.add(.notEqual(RuleValue(element)), at: path) }
        case .in, .arrayContainsAny:
            guard let elements = value.arrayValue, elements.count <= alternativeLimit else { return nil }
            return elements.map { element in
                var one = QueryConstraints()
                if test == .in {
                    one.set(element, at: path)
                } else {
                    one.add(.contains(RuleValue(element)), at: path)
                }
                return one
            }
        }
        return [one]
    }

    private mutating func set(_ value: Value, at path: FieldPath) {
        guard !path.isDocumentName else { return }
        switch Self.found(by: value) {
        case .unknown(let unknown): open[path.segments, default: []] += unknown.conditions
        case let found: known[path.segments] = found
        }
    }

    /// Returns the value that a field has if it equals the value of a query. The numbers in it may be
    /// integers or floats.
    private static func found(by value: Value) -> RuleValue {
        switch value {
        case .integer, .double: .unknown(RuleValue.Unknown(conditions: [.equal(RuleValue(value))]))
        case .array(let elements): .list(.built(elements.map(found)))
        case .map(let entries): .map(.built(entries.mapValues(found)))
        default: RuleValue(value)
        }
    }

    private mutating func add(_ condition: RuleValue.Unknown.Condition, at path: FieldPath) {
        guard !path.isDocumentName else { return }
        open[path.segments, default: []].append(condition)
    }

    private func merged(with other: QueryConstraints) -> QueryConstraints {
        var merged = self
        // Two equalities on one field leave no document or the same; either may stand.
        merged.known.merge(other.known) { first, _ in first }
        merged.open.merge(other.open) { $0 + $1 }
        return merged
    }

    /// Returns what is known of a field.
    func value(at path: [String]) -> RuleValue {
        if let value = known[path] { return value }
        for count in path.indices.dropFirst() {
            // A field inside a map that the query gives as a whole.
            guard let outer = known[Array(path[..<count])] else { continue }
            return Self.value(at: path[count...], in: outer)
        }
        let isMap = (Array(known.keys) + Array(open.keys)).contains { $0.count > path.count && $0.starts(with: path) }
        if isMap { return .map(.view(OpenMap(self, path: path))) }
        return .unknown(RuleValue.Unknown(conditions: open[path] ?? []))
    }

    private static func value(at path: ArraySlice<String>, in outer: RuleValue) -> RuleValue {
        var value = outer
        for key in path {
            guard case .map(let map) = value, let inner = map.value(of: key) else { return .unknown(.anything) }
            value = inner
        }
        return value
    }

    /// Whether each of the documents has a field at a path.
    func demands(_ path: [String]) -> Bool {
        (Array(known.keys) + Array(open.keys)).contains { $0.starts(with: path) }
    }
}

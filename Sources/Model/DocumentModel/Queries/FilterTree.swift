/// A query's filter with checked conditions, and its disjunctive normal form.
struct FilterTree: Sendable, Hashable {
    static let maximumDisjunctions = 30

    private indirect enum Node: Sendable, Hashable {
        case all([Node])
        case any([Node])
        case condition(Condition)
    }

    private let root: Node
    /// All conditions of the tree.
    let conditions: [Condition]

    init(_ filter: Query.Filter?) throws(QueryError) {
        var conditions: [Condition] = []
        var hasOr = false
        root =
            try filter.map { filter throws(QueryError) in
                try Self.node(filter, collecting: &conditions, hasOr: &hasOr)
            } ?? .all([])
        self.conditions = conditions
        try Self.check(conditions, hasOr: hasOr)
    }

    func holds(_ value: (FieldPath) -> Value?) -> Bool { Self.holds(root, value) }

    /// Returns conjunctions of which at least one must hold, with IN and ARRAY_CONTAINS_ANY
    /// expanded. Never empty: a query without a filter has one empty conjunction.
    func disjunctions() throws(QueryError) -> [[Condition]] {
        let count = Self.count(root)
        guard count <= Self.maximumDisjunctions else {
            throw QueryError(
                "The query has more than \(Self.maximumDisjunctions) disjunctions after expanding 'IN', "
                    + "'ARRAY_CONTAINS_ANY' and 'OR'.")
        }
        let disjunctions = Self.expand(root)
        for conjunction in disjunctions {
            let contains = conjunction.count { if case .arrayContains = $0.test { true } else { false } }
            guard contains <= 1 else {
                throw QueryError("A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
            }
        }
        return disjunctions
    }

    private static func node(
        _ filter: Query.Filter, collecting conditions: inout [Condition], hasOr: inout Bool
    ) throws(QueryError) -> Node {
        let filters: [Query.Filter]
        var isOr = false
        switch filter {
        case .and(let parts): filters = parts
        case .or(let parts):
            filters = parts
            isOr = parts.count > 1
        case .field(let path, let fieldOperator, let operand):
            let condition = try Condition(path, fieldOperator, operand)
            conditions.append(condition)
            return .condition(condition)
        case .unary(let path, let unaryOperator):
            let condition = Condition(path, unaryOperator)
            conditions.append(condition)
            return .condition(condition)
        }
        hasOr = hasOr || isOr
        var nodes: [Node] = []
        for part in filters { nodes.append(try node(part, collecting: &conditions, hasOr: &hasOr)) }
        // An empty composite, even of type OR, is no filter.
        return isOr ? .any(nodes) : .all(nodes)
    }

    private static func check(_ conditions: [Condition], hasOr: Bool) throws(QueryError) {
        guard conditions.count(where: \.isNegative) <= 1 else {
            throw QueryError(
                "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
        }
        let hasNotIn = conditions.contains { if case .notIn = $0.test { true } else { false } }
        let hasAlternatives = conditions.contains {
            switch $0.test {
            case .in, .arrayContainsAny: true
            default: false
            }
        }
        guard !hasNotIn || !(hasOr || hasAlternatives) else {
            throw QueryError("'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")
        }
    }

    private static func holds(_ node: Node, _ value: (FieldPath) -> Value?) -> Bool {
        switch node {
        case .all(let nodes): nodes.allSatisfy { holds($0, value) }
        case .any(let nodes): nodes.contains { holds($0, value) }
        case .condition(let condition): condition.holds(for: value(condition.path))
        }
    }

    /// Returns the number of conjunctions that `expand` would return. Stops counting above the
    /// limit.
    private static func count(_ node: Node) -> Int {
        let most = maximumDisjunctions + 1
        return switch node {
        case .all(let nodes): nodes.reduce(1) { min(most, $0 * count($1)) }
        case .any(let nodes): nodes.reduce(0) { min(most, $0 + count($1)) }
        case .condition(let condition): min(most, condition.alternatives.count)
        }
    }

    private static func expand(_ node: Node) -> [[Condition]] {
        switch node {
        case .all(let nodes):
            nodes.reduce([[]]) { conjunctions, node in
                let more = expand(node)
                return conjunctions.flatMap { conjunction in more.map { conjunction + $0 } }
            }
        case .any(let nodes): nodes.flatMap(expand)
        case .condition(let condition): condition.alternatives.map { [$0] }
        }
    }
}

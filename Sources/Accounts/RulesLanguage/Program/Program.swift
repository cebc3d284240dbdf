import RegularExpressions

/// Rules whose names are resolved, ready to decide requests.
struct Program: Sendable {
    /// The version of the language, 1 or 2.
    let version: Int
    /// The matches of the service.
    let matches: [Match]
    let functions: [Function]

    struct Match: Sendable {
        let pattern: [SyntaxTree.PatternSegment]
        let allows: [Allow]
        let matches: [Match]
    }

    struct Allow: Sendable {
        let position: SourcePosition
        let methods: Set<RulesMethod>
        /// Nil: always.
        let condition: Node?
    }

    struct Function: Sendable {
        let name: String
        /// The values of variables, which come after the parameters.
        let variables: [Node]
        let result: Node
    }

    struct Node: Sendable {
        let position: SourcePosition
        let kind: Kind
    }

    indirect enum Kind: Sendable {
        case constant(RuleValue)
        case request
        case resource
        /// A wildcard of a match, counted from the outermost.
        case capture(Int)
        /// A parameter or variable of the function.
        case local(Int)
        case member(Node, String)
        case index(Node, Node)
        case slice(Node, Node, Node)
        /// A function of the rules, by its index.
        case call(Int, [Node])
        case get(Node, after: Bool)
        case exists(Node, after: Bool)
        case convert(Conversion, Node)
        /// A function of a namespace, such as `math.abs`.
        case namespace(Namespace, String, [Node])
        case method(Node, String, [Node])
        /// `matches` with a constant pattern.
        case matches(Node, RegularExpression)
        case not(Node)
        case negate(Node)
        case all([Node])
        case any([Node])
        case binary(BinaryOperator, Node, Node)
        case typeTest(Node, RuleType)
        case conditional(Node, Node, Node)
        case list([Node])
        case map([(key: Node, value: Node)])
        case path([PathSegment])
    }

    enum PathSegment: Sendable {
        case literal(String)
        case computed(Node)
    }

    enum Conversion: String, Sendable {
        case string, int, float, bool, path, debug
    }

    enum Namespace: String, Sendable {
        case math, timestamp, duration, latlng, hashing
    }
}

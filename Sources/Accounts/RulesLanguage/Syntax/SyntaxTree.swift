/// The source of rules as it is written: names are not resolved.
struct SyntaxTree: Sendable {
    /// The version of the language: 1 unless the source says `rules_version = '2'`.
    var version = 1
    var services: [Service] = []
    /// The functions outside of services.
    var functions: [Function] = []

    /// `service cloud.firestore { … }`
    struct Service: Sendable {
        var name: String
        var block: Block
    }

    /// The content of the braces of a service or a match.
    struct Block: Sendable {
        var matches: [Match] = []
        var allows: [Allow] = []
        var functions: [Function] = []
    }

    /// `match /users/{user} { … }`
    struct Match: Sendable {
        var position: SourcePosition
        var pattern: [PatternSegment]
        var block: Block
    }

    /// `allow read, update: if condition;`
    struct Allow: Sendable {
        var position: SourcePosition
        var methods: Set<RulesMethod>
        /// Nil: always.
        var condition: Expression?
    }

    /// `function name(parameters) { let name = value; return value; }`
    struct Function: Sendable {
        var position: SourcePosition
        var name: String
        var parameters: [String]
        var variables: [(name: String, value: Expression)]
        var result: Expression
    }

    /// A segment of a match's path.
    enum PatternSegment: Sendable {
        case literal(String)
        /// `{name}`
        case one(String)
        /// `{name=**}`
        case many(String)
    }

    struct Expression: Sendable {
        var position: SourcePosition
        var kind: Kind
    }

    indirect enum Kind: Sendable {
        case literal(RuleValue)
        case name(String)
        case member(Expression, String)
        case index(Expression, Expression)
        case slice(Expression, Expression, Expression)
        /// `name(arguments)`
        case call(String, [Expression])
        /// `value.name(arguments)`
        case method(Expression, String, [Expression])
        case not(Expression)
        case negate(Expression)
        /// Operands joined by `&&`.
        case all([Expression])
        /// Operands joined by `||`.
        case any([Expression])
        case binary(BinaryOperator, Expression, Expression)
        case typeTest(Expression, RuleType)
        case conditional(Expression, Expression, Expression)
        case list([Expression])
        case map([(key: Expression, value: Expression)])
        /// `/users/$(id)`
        case path([PathSegment])
    }

    enum PathSegment: Sendable {
        case literal(String)
        case computed(Expression)
    }
}

/// A kind of request that rules allow.
package enum RulesMethod: String, Sendable, Hashable, CaseIterable {
    case get, list, create, update, delete

    /// Returns the methods that a word in `allow` stands for; nil for another word.
    static func named(_ word: String) -> [RulesMethod]? {
        switch word {
        case "read": [.get, .list]
        case "write": [.create, .update, .delete]
        default: RulesMethod(rawValue: word).map { [$0] }
        }
    }
}

enum BinaryOperator: String, Sendable, Hashable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case isIn = "in"
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
}

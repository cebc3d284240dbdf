import RegularExpressions

/// Resolves the names of rules and checks what can be checked before a request comes: that names,
/// functions and methods exist, the numbers of arguments, regular expressions, and that no function
/// calls itself.
struct Resolver {
    private var functions: [Program.Function?] = []
    /// The functions that each function calls, and where.
    private var calls: [[Int: SourcePosition]] = []
    private var current: Int?

    /// The meanings of names in one place.
    private struct Scope {
        var functions: [String: Int] = [:]
        var captures: [String: Int] = [:]
        var captureCount = 0
        var locals: [String: Int] = [:]
        /// The parameters of the functions that can be called, by the functions' indexes.
        var parameters: [Int: Int] = [:]
    }

    private typealias Node = Program.Node

    private init() {}

    /// Resolves the rules of a service.
    ///
    /// - Throws: `RulesSyntaxError` for the first mistake.
    static func resolve(_ tree: SyntaxTree, service name: String) throws(RulesSyntaxError) -> Program {
        var resolver = Resolver()
        var matches: [Program.Match] = []
        let scope = try resolver.declare(tree.functions, in: Scope())
        for service in tree.services where service.name == name {
            if let allow = service.block.allows.first {
                throw RulesSyntaxError("\"allow\" must be inside a match.", at: allow.position)
            }
            let inner = try resolver.declare(service.block.functions, in: scope)
            for match in service.block.matches {
                matches.append(try resolver.resolve(match, in: inner, version: tree.version))
            }
        }
        try resolver.refuseRecursion()
        return Program(version: tree.version, matches: matches, functions: resolver.functions.compactMap { $0 })
    }

    // MARK: Functions

    /// Resolves the functions of a block, which may call each other.
    private mutating func declare(
        _ declared: [SyntaxTree.Function], in scope: Scope
    ) throws(RulesSyntaxError) -> Scope {
        var scope = scope
        var own: Set<String> = []
        let first = functions.count
        for function in declared {
            guard own.insert(function.name).inserted else {
                throw RulesSyntaxError(
                    "There are two functions named \"\(function.name)\" here.", at: function.position)
            }
            guard BuiltIns.functions[function.name] == nil else {
                throw RulesSyntaxError("\"\(function.name)\" is a function of the language.", at: function.position)
            }
            scope.functions[function.name] = functions.count
            scope.parameters[functions.count] = function.parameters.count
            functions.append(nil)
            calls.append([:])
        }
        for (offset, function) in declared.enumerated() {
            current = first + offset
            functions[first + offset] = try resolve(function, in: scope)
            current = nil
        }
        return scope
    }

    private mutating func resolve(
        _ function: SyntaxTree.Function, in scope: Scope
    ) throws(RulesSyntaxError) -> Program.Function {
        var scope = scope
        scope.locals = [:]
        for name in function.parameters {
            guard scope.locals.updateValue(scope.locals.count, forKey: name) == nil else {
                throw RulesSyntaxError("There are two parameters named \"\(name)\".", at: function.position)
            }
        }
        var variables: [Node] = []
        for (name, value) in function.variables {
            variables.append(try resolve(value, in: scope))
            guard scope.locals.updateValue(scope.locals.count, forKey: name) == nil else {
                throw RulesSyntaxError("There are two variables named \"\(name)\".", at: value.position)
            }
        }
        return Program.Function(
            name: function.name, variables: variables, result: try resolve(function.result, in: scope))
    }

    private func refuseRecursion() throws(RulesSyntaxError) {
        var finished: Set<Int> = []
        for start in calls.indices where !finished.contains(start) {
            try visit(start, path: [], finished: &finished)
        }
    }

    private func visit(_ function: Int, path: Set<Int>, finished: inout Set<Int>) throws(RulesSyntaxError) {
        guard !finished.contains(function) else { return }
        for (callee, position) in calls[function].sorted(by: { $0.value < $1.value }) {
            guard callee != function, !path.contains(callee) else {
                throw RulesSyntaxError("This function calls itself, which the language does not allow.", at: position)
            }
            try visit(callee, path: path.union([function]), finished: &finished)
        }
        finished.insert(function)
    }

    // MARK: Matches

    private mutating func resolve(
        _ match: SyntaxTree.Match, in scope: Scope, version: Int
    ) throws(RulesSyntaxError) -> Program.Match {
        var scope = scope
        for (index, segment) in match.pattern.enumerated() {
            let name: String
            switch segment {
            case .literal: continue
            case .one(let wildcard): name = wildcard
            case .many(let wildcard):
                guard version > 1 || index == match.pattern.count - 1 else {
                    throw RulesSyntaxError(
                        "In version 1, \"{\(wildcard)=**}\" must be at the end of a path; write rules_version = '2'.",
                        at: match.position)
                }
                name = wildcard
            }
            scope.captures[name] = scope.captureCount
            scope.captureCount += 1
        }
        let inner = try declare(match.block.functions, in: scope)
        var allows: [Program.Allow] = []
        for allow in match.block.allows {
            var condition: Node?
            if let expression = allow.condition { condition = try resolve(expression, in: inner) }
            allows.append(Program.Allow(position: allow.position, methods: allow.methods, condition: condition))
        }
        var matches: [Program.Match] = []
        for match in match.block.matches { matches.append(try resolve(match, in: inner, version: version)) }
        return Program.Match(pattern: match.pattern, allows: allows, matches: matches)
    }

    // MARK: Expressions

    private mutating func resolve(
        _ expression: SyntaxTree.Expression, in scope: Scope
    ) throws(RulesSyntaxError) -> Node {
        Node(position: expression.position, kind: try kind(of: expression, in: scope))
    }

    private mutating func resolve(
        _ expressions: [SyntaxTree.Expression], in scope: Scope
    ) throws(RulesSyntaxError) -> [Node] {
        var nodes: [Node] = []
        for expression in expressions { nodes.append(try resolve(expression, in: scope)) }
        return nodes
    }

    private mutating func kind(
        of expression: SyntaxTree.Expression, in scope: Scope
    ) throws(RulesSyntaxError) -> Program.Kind {
        let position = expression.position
        switch expression.kind {
        case .literal(let value): return .constant(value)
        case .name(let name): return try kind(ofName: name, at: position, in: scope)
        case .member(let value, let name): return .member(try resolve(value, in: scope), name)
        case .index(let value, let index):
            return .index(try resolve(value, in: scope), try resolve(index, in: scope))
        case .slice(let value, let start, let end):
            return .slice(
                try resolve(value, in: scope), try resolve(start, in: scope), try resolve(end, in: scope))
        case .call(let name, let arguments):
            return try kind(ofCall: name, try resolve(arguments, in: scope), at: position, in: scope)
        case .method(let value, let name, let arguments):
            return try kind(ofMethod: name, of: value, try resolve(arguments, in: scope), at: position, in: scope)
        case .not(let value): return .not(try resolve(value, in: scope))
        case .negate(let value): return .negate(try resolve(value, in: scope))
        case .all(let operands): return .all(try resolve(operands, in: scope))
        case .any(let operands): return .any(try resolve(operands, in: scope))
        case .binary(let operation, let left, let right):
            return .binary(operation, try resolve(left, in: scope), try resolve(right, in: scope))
        case .typeTest(let value, let type): return .typeTest(try resolve(value, in: scope), type)
        case .conditional(let condition, let first, let second):
            return .conditional(
                try resolve(condition, in: scope), try resolve(first, in: scope), try resolve(second, in: scope))
        case .list(let elements): return .list(try resolve(elements, in: scope))
        case .map(let entries):
            var resolved: [(key: Node, value: Node)] = []
            for (key, value) in entries {
                resolved.append((try resolve(key, in: scope), try resolve(value, in: scope)))
            }
            return .map(resolved)
        case .path(let segments):
            var resolved: [Program.PathSegment] = []
            for segment in segments {
                switch segment {
                case .literal(let text): resolved.append(.literal(text))
                case .computed(let value): resolved.append(.computed(try resolve(value, in: scope)))
                }
            }
            return .path(resolved)
        }
    }

    private func kind(
        ofName name: String, at position: SourcePosition, in scope: Scope
    ) throws(RulesSyntaxError) -> Program.Kind {
        if let index = scope.locals[name] { return .local(index) }
        if let index = scope.captures[name] { return .capture(index) }
        switch name {
        case "request": return .request
        case "resource": return .resource
        default:
            let hint = Program.Namespace(rawValue: name) == nil ? "" : ", and a namespace is not a value"
            throw RulesSyntaxError("\"\(name)\" is not a variable here\(hint).", at: position)
        }
    }

    private mutating func kind(
        ofCall name: String, _ arguments: [Node], at position: SourcePosition, in scope: Scope
    ) throws(RulesSyntaxError) -> Program.Kind {
        if let index = scope.functions[name] {
            try check(arguments.count, for: name, takes: scope.parameters[index] ?? 0, at: position)
            if let current { calls[current][index] = position }
            return .call(index, arguments)
        }
        guard let count = BuiltIns.functions[name] else {
            throw RulesSyntaxError("There is no function \"\(name)\" here.", at: position)
        }
        try check(arguments.count, for: name, takes: count, at: position)
        guard let argument = arguments.first else { return .constant(.null) }
        switch name {
        case "get": return .get(argument, after: false)
        case "getAfter": return .get(argument, after: true)
        case "exists": return .exists(argument, after: false)
        case "existsAfter": return .exists(argument, after: true)
        default:
            guard let conversion = Program.Conversion(rawValue: name) else { return .constant(.null) }
            return .convert(conversion, argument)
        }
    }

    private mutating func kind(
        ofMethod name: String, of value: SyntaxTree.Expression, _ arguments: [Node], at position: SourcePosition,
        in scope: Scope
    ) throws(RulesSyntaxError) -> Program.Kind {
        if case .name(let word) = value.kind, let namespace = Program.Namespace(rawValue: word),
            scope.locals[word] == nil, scope.captures[word] == nil
        {
            guard let count = BuiltIns.namespaces[namespace]?[name] else {
                throw RulesSyntaxError("There is no function \"\(word).\(name)\".", at: position)
            }
            try check(arguments.count, for: "\(word).\(name)", takes: count, at: position)
            return .namespace(namespace, name, arguments)
        }
        guard let counts = BuiltIns.methods[name] else {
            throw RulesSyntaxError("No type has a method \"\(name)\".", at: position)
        }
        guard counts.contains(arguments.count) else {
            try check(arguments.count, for: name, takes: counts.lowerBound, at: position)
            return .constant(.null)
        }
        let value = try resolve(value, in: scope)
        guard name == "matches", let argument = arguments.first, case .constant(.string(let pattern)) = argument.kind
        else { return .method(value, name, arguments) }
        do {
            return .matches(value, try RegularExpression(pattern))
        } catch {
            throw RulesSyntaxError("This regular expression is not valid: \(error).", at: argument.position)
        }
    }

    private func check(
        _ count: Int, for name: String, takes expected: Int, at position: SourcePosition
    ) throws(RulesSyntaxError) {
        guard count != expected else { return }
        throw RulesSyntaxError("\"\(name)\" takes \(expected) arguments, not \(count).", at: position)
    }
}

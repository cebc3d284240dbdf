extension Parser {
    typealias Expression = SyntaxTree.Expression

    /// Parses an expression.
    ///
    /// Precedence, weakest first: `? :`, `||`, `&&`, `==` and `!=`, `in` and `is`, comparisons, `+`
    /// and `-`, `*`, `/` and `%`, unary operators, members and calls.
    mutating func parseExpression() throws(RulesSyntaxError) -> Expression {
        try enter()
        defer { leave() }
        let condition = try parseAny()
        guard try scanner.take("?") else { return condition }
        let first = try parseExpression()
        try expect(":")
        let second = try parseExpression()
        return Expression(position: condition.position, kind: .conditional(condition, first, second))
    }

    private mutating func parseAny() throws(RulesSyntaxError) -> Expression {
        try scanner.skipSpace()
        let position = scanner.position
        var operands = [try parseAll()]
        while try scanner.take("||") { operands.append(try parseAll()) }
        return operands.count == 1 ? operands[0] : Expression(position: position, kind: .any(operands))
    }

    private mutating func parseAll() throws(RulesSyntaxError) -> Expression {
        try scanner.skipSpace()
        let position = scanner.position
        var operands = [try parseBinary(level: 0)]
        while try scanner.take("&&") { operands.append(try parseBinary(level: 0)) }
        return operands.count == 1 ? operands[0] : Expression(position: position, kind: .all(operands))
    }

    private static let levels: [[BinaryOperator]] = [
        [.equal, .notEqual], [.isIn], [.lessOrEqual, .greaterOrEqual, .less, .greater], [.add, .subtract],
        [.multiply, .divide, .remainder],
    ]

    private mutating func parseBinary(level: Int) throws(RulesSyntaxError) -> Expression {
        guard Self.levels.indices.contains(level) else { return try parseUnary() }
        var left = try parseBinary(level: level + 1)
        // Each operator nests what is to its left one deeper.
        for _ in 0..<Self.depthLimit {
            try scanner.skipSpace()
            let position = scanner.position
            if Self.levels[level] == [.isIn], try scanner.takeWord("is") {
                left = Expression(position: position, kind: .typeTest(left, try parseType()))
            } else if let taken = try takeOperator(of: Self.levels[level]) {
                let right = try parseBinary(level: level + 1)
                left = Expression(position: position, kind: .binary(taken, left, right))
            } else {
                return left
            }
        }
        throw error("This is nested more than \(Self.depthLimit) deep.")
    }

    private mutating func parseType() throws(RulesSyntaxError) -> RuleType {
        try scanner.skipSpace()
        let position = scanner.position
        let name = try expectName("the name of a type")
        guard let type = RuleType(named: name) else {
            throw RulesSyntaxError("\"\(name)\" is not a type.", at: position)
        }
        return type
    }

    private mutating func takeOperator(of level: [BinaryOperator]) throws(RulesSyntaxError) -> BinaryOperator? {
        for candidate in level {
            let isTaken =
                switch candidate {
                case .equal: try scanner.take("==")
                case .notEqual: try scanner.take("!=")
                case .lessOrEqual: try scanner.take("<=")
                case .greaterOrEqual: try scanner.take(">=")
                case .less: try scanner.take("<")
                case .greater: try scanner.take(">")
                case .isIn: try scanner.takeWord("in")
                case .add: try scanner.take("+")
                case .subtract: try scanner.take("-")
                case .multiply: try scanner.take("*")
                case .divide: try scanner.take("/")
                case .remainder: try scanner.take("%")
                }
            if isTaken { return candidate }
        }
        return nil
    }

    private mutating func parseUnary() throws(RulesSyntaxError) -> Expression {
        try scanner.skipSpace()
        let position = scanner.position
        switch scanner.next {
        case "!":
            scanner.advance()
            try enter()
            defer { leave() }
            return Expression(position: position, kind: .not(try parseUnary()))
        case "-":
            scanner.advance()
            try enter()
            defer { leave() }
            return Expression(position: position, kind: .negate(try parseUnary()))
        default:
            return try parseSuffixes(of: try parsePrimary())
        }
    }

    private mutating func parseSuffixes(of value: Expression) throws(RulesSyntaxError) -> Expression {
        var value = value
        for _ in 0..<Self.depthLimit {
            try scanner.skipSpace()
            let position = scanner.position
            if scanner.next == "." {
                scanner.advance()
                let name = try expectName("the name of a member")
                if try scanner.take("(") {
                    value = Expression(position: position, kind: .method(value, name, try parseArguments(until: ")")))
                } else {
                    value = Expression(position: position, kind: .member(value, name))
                }
            } else if scanner.next == "[" {
                scanner.advance()
                let index = try parseExpression()
                if try scanner.take(":") {
                    value = Expression(position: position, kind: .slice(value, index, try parseExpression()))
                } else {
                    value = Expression(position: position, kind: .index(value, index))
                }
                try expect("]")
            } else {
                return value
            }
        }
        throw error("This is nested more than \(Self.depthLimit) deep.")
    }

    /// Parses expressions up to a closing bracket, after the opening one.
    private mutating func parseArguments(until end: StaticString) throws(RulesSyntaxError) -> [Expression] {
        var arguments: [Expression] = []
        if try scanner.take(end) { return [] }
        repeat {
            // A comma may follow the last one.
            if !arguments.isEmpty, try scanner.take(end) { return arguments }
            arguments.append(try parseExpression())
        } while try scanner.take(",")
        try expect(end)
        return arguments
    }

    private mutating func parsePrimary() throws(RulesSyntaxError) -> Expression {
        let position = scanner.position
        guard let character = scanner.next else { throw error("Expected a value, but the rules end here.") }
        switch character {
        case "(":
            scanner.advance()
            let value = try parseExpression()
            try expect(")")
            return value
        case "[":
            scanner.advance()
            return Expression(position: position, kind: .list(try parseArguments(until: "]")))
        case "{":
            scanner.advance()
            return Expression(position: position, kind: .map(try parseEntries()))
        case "/":
            return Expression(position: position, kind: .path(try parsePath()))
        case "'", "\"":
            return Expression(position: position, kind: .literal(.string(try scanner.takeString())))
        case _ where Scanner.isDigit(character):
            return Expression(position: position, kind: .literal(try scanner.takeNumber()))
        default:
            guard let name = try scanner.takeName() else { throw error("Expected a value, not \"\(character)\".") }
            return Expression(position: position, kind: try parseName(name))
        }
    }

    private mutating func parseName(_ name: String) throws(RulesSyntaxError) -> SyntaxTree.Kind {
        switch name {
        case "true": return .literal(.boolean(true))
        case "false": return .literal(.boolean(false))
        case "null": return .literal(.null)
        case "b" where scanner.next == "'" || scanner.next == "\"":
            return .literal(.bytes(Array(try scanner.takeString().utf8)))
        default: return try scanner.take("(") ? .call(name, try parseArguments(until: ")")) : .name(name)
        }
    }

    private mutating func parseEntries() throws(RulesSyntaxError) -> [(key: Expression, value: Expression)] {
        var entries: [(key: Expression, value: Expression)] = []
        while try !scanner.take("}") {
            let key = try parseExpression()
            try expect(":")
            entries.append((key, try parseExpression()))
            if try !scanner.take(",") {
                try expect("}")
                break
            }
        }
        return entries
    }

    private mutating func parsePath() throws(RulesSyntaxError) -> [SyntaxTree.PathSegment] {
        var segments: [SyntaxTree.PathSegment] = []
        while scanner.next == "/" {
            scanner.advance()
            if scanner.next == "$", scanner.peek(1) == "(" {
                scanner.advance(2)
                segments.append(.computed(try parseExpression()))
                try expect(")")
            } else {
                segments.append(.literal(try expectPathText()))
            }
        }
        return segments
    }
}

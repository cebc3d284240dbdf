/// Parses the source of rules: the Firebase Security Rules language, versions 1 and 2.
///
/// Syntax: https://firebase.google.com/docs/rules/rules-language
struct Parser {
    /// The longest source in bytes of UTF-8, as production has it.
    static let sourceLimit = 256 << 10
    /// The deepest nesting of matches and of expressions.
    static let depthLimit = 64
    /// The most parameters and the most variables of a function, as production has it.
    static let parameterLimit = 7
    static let variableLimit = 10

    var scanner: Scanner
    private var depth = 0

    private init(_ source: String) {
        scanner = Scanner(source)
    }

    static func parse(_ source: String) throws(RulesSyntaxError) -> SyntaxTree {
        guard source.utf8.count <= sourceLimit else {
            throw RulesSyntaxError(
                "The rules are longer than \(sourceLimit) bytes.", at: SourcePosition(line: 1, column: 1))
        }
        var parser = Parser(source.hasPrefix("\u{FEFF}") ? String(source.unicodeScalars.dropFirst()) : source)
        return try parser.parseFile()
    }

    private mutating func parseFile() throws(RulesSyntaxError) -> SyntaxTree {
        var tree = SyntaxTree()
        if try scanner.takeWord("rules_version") { tree.version = try parseVersion() }
        while true {
            try scanner.skipSpace()
            if scanner.isAtEnd { break }
            if try scanner.takeWord("service") {
                tree.services.append(try parseService())
            } else if try scanner.takeWord("function") {
                tree.functions.append(try parseFunction())
            } else {
                throw error("Expected \"service\" or \"function\".")
            }
        }
        guard !tree.services.isEmpty else { throw error("There is no service in these rules.") }
        return tree
    }

    private mutating func parseVersion() throws(RulesSyntaxError) -> Int {
        try expect("=")
        try scanner.skipSpace()
        let position = scanner.position
        guard scanner.next == "'" || scanner.next == "\"" else { throw error("Expected '1' or '2'.") }
        guard let version = Int(try scanner.takeString()), 1...2 ~= version else {
            throw RulesSyntaxError("The version of rules is '1' or '2'.", at: position)
        }
        _ = try scanner.take(";")
        return version
    }

    private mutating func parseService() throws(RulesSyntaxError) -> SyntaxTree.Service {
        var name = try expectName("the name of a service")
        while try scanner.take(".") { name += "." + (try expectName("the name of a service")) }
        return SyntaxTree.Service(name: name, block: try parseBlock())
    }

    private mutating func parseBlock() throws(RulesSyntaxError) -> SyntaxTree.Block {
        try enter()
        defer { leave() }
        var block = SyntaxTree.Block()
        try expect("{")
        while try !scanner.take("}") {
            try scanner.skipSpace()
            let position = scanner.position
            if try scanner.takeWord("match") {
                let pattern = try parsePattern()
                block.matches.append(SyntaxTree.Match(position: position, pattern: pattern, block: try parseBlock()))
            } else if try scanner.takeWord("allow") {
                block.allows.append(try parseAllow(at: position))
            } else if try scanner.takeWord("function") {
                block.functions.append(try parseFunction())
            } else {
                throw error("Expected \"match\", \"allow\", \"function\" or \"}\".")
            }
        }
        return block
    }

    private mutating func parseAllow(at position: SourcePosition) throws(RulesSyntaxError) -> SyntaxTree.Allow {
        var methods: Set<RulesMethod> = []
        repeat {
            try scanner.skipSpace()
            let position = scanner.position
            let word = try expectName("a method")
            guard let named = RulesMethod.named(word) else {
                throw RulesSyntaxError(
                    "\"\(word)\" is not a method: read, get, list, write, create, update or delete.", at: position)
            }
            methods.formUnion(named)
        } while try scanner.take(",")
        var condition: SyntaxTree.Expression?
        if try scanner.take(":") {
            guard try scanner.takeWord("if") else { throw error("Expected \"if\".") }
            condition = try parseExpression()
        }
        // The semicolon may be missing, as in production: what follows begins with a word or a brace.
        _ = try scanner.take(";")
        return SyntaxTree.Allow(position: position, methods: methods, condition: condition)
    }

    private mutating func parseFunction() throws(RulesSyntaxError) -> SyntaxTree.Function {
        try scanner.skipSpace()
        let position = scanner.position
        var function = SyntaxTree.Function(
            position: position, name: try expectName("the name of a function"), parameters: [], variables: [],
            result: SyntaxTree.Expression(position: position, kind: .literal(.null)))
        try expect("(")
        if try !scanner.take(")") {
            repeat { function.parameters.append(try expectName("a parameter")) } while try scanner.take(",")
            try expect(")")
        }
        try expect("{")
        while try scanner.takeWord("let") {
            let name = try expectName("the name of a variable")
            try expect("=")
            function.variables.append((name, try parseExpression()))
            _ = try scanner.take(";")
        }
        guard try scanner.takeWord("return") else { throw error("Expected \"let\" or \"return\".") }
        function.result = try parseExpression()
        _ = try scanner.take(";")
        try expect("}")
        guard function.parameters.count <= Self.parameterLimit, function.variables.count <= Self.variableLimit else {
            throw RulesSyntaxError(
                "A function has at most \(Self.parameterLimit) parameters and \(Self.variableLimit) variables.",
                at: position)
        }
        return function
    }

    // MARK: Patterns

    private mutating func parsePattern() throws(RulesSyntaxError) -> [SyntaxTree.PatternSegment] {
        try scanner.skipSpace()
        guard scanner.next == "/" else { throw error("Expected a path that starts with \"/\".") }
        var segments: [SyntaxTree.PatternSegment] = []
        while scanner.next == "/" {
            scanner.advance()
            if scanner.next == "{" {
                scanner.advance()
                segments.append(try parseWildcard())
            } else {
                segments.append(.literal(try expectPathText()))
            }
        }
        return segments
    }

    private mutating func parseWildcard() throws(RulesSyntaxError) -> SyntaxTree.PatternSegment {
        let name = try expectName("the name of a wildcard")
        var isMany = false
        if try scanner.take("=") {
            isMany = try scanner.take("**")
            if !isMany, try !scanner.take("*") { throw error("Expected \"**\".") }
        }
        try expect("}")
        return isMany ? .many(name) : .one(name)
    }

    /// Takes the text of a segment of a path.
    mutating func expectPathText() throws(RulesSyntaxError) -> String {
        var text = ""
        if scanner.next == "(", scanner.peek(1) != ")" {
            // "(default)" is the name of a database.
            scanner.advance()
            text = "(" + scanner.takeCharacters(while: Scanner.isInWord)
            guard scanner.next == ")" else { throw error("Expected \")\" in a path.") }
            scanner.advance()
            text += ")"
        }
        text += scanner.takeCharacters(while: Self.isInPath)
        guard !text.isEmpty else { throw error("Expected a segment of a path.") }
        return text
    }

    private static func isInPath(_ character: Unicode.Scalar) -> Bool {
        if Scanner.isInWord(character) { return true }
        switch character {
        case "-", ".", "~", "%", "@", "+", ":", "*": return true
        default: return character.value > 0x7F && !character.properties.isWhitespace
        }
    }

    // MARK: Help

    func error(_ message: String) -> RulesSyntaxError { RulesSyntaxError(message, at: scanner.position) }

    mutating func expect(_ text: StaticString) throws(RulesSyntaxError) {
        guard try scanner.take(text) else { throw error("Expected \"\(text)\".") }
    }

    mutating func expectName(_ what: String) throws(RulesSyntaxError) -> String {
        guard let name = try scanner.takeName() else { throw error("Expected \(what).") }
        return name
    }

    /// Enters a nested block or expression, which the caller leaves by `leave`.
    mutating func enter() throws(RulesSyntaxError) {
        depth += 1
        guard depth <= Self.depthLimit else { throw error("This is nested more than \(Self.depthLimit) deep.") }
    }

    mutating func leave() { depth -= 1 }
}

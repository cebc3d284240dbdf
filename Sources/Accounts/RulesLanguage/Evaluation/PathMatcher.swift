/// Finds the conditions that apply to a path.
struct PathMatcher {
    /// The most steps of matching for one request.
    static let stepLimit = 10_000

    /// Decides by a condition that applies, with the values of the wildcards around it. Returns whether
    /// the search ends.
    typealias Body = (Program.Allow, [RuleValue]) -> Bool

    private let method: RulesMethod
    private let path: [RequestSegment]
    private let version: Int
    private var captures: [RuleValue] = []
    private var steps = 0

    /// Calls `body` for the conditions for a method on a path, in the order in which they are written,
    /// until it returns true.
    static func search(
        _ program: Program, for method: RulesMethod, at path: [RequestSegment], _ body: Body
    ) {
        var matcher = PathMatcher(method: method, path: path, version: program.version)
        _ = matcher.visit(program.matches, at: 0, body)
    }

    private init(method: RulesMethod, path: [RequestSegment], version: Int) {
        self.method = method
        self.path = path
        self.version = version
    }

    private mutating func visit(_ matches: [Program.Match], at start: Int, _ body: Body) -> Bool {
        for match in matches {
            let isEnd = take(match.pattern[...], at: start) { matcher, end in
                if end == matcher.path.count {
                    for allow in match.allows where allow.methods.contains(matcher.method) {
                        if body(allow, matcher.captures) { return true }
                    }
                }
                // Also at the end of the path, because a recursive wildcard may take nothing.
                return matcher.visit(match.matches, at: end, body)
            }
            if isEnd { return true }
        }
        return false
    }

    /// Calls `body` with the end of each beginning of the path that a pattern takes, until it returns true.
    private mutating func take(
        _ pattern: ArraySlice<SyntaxTree.PatternSegment>, at start: Int, _ body: (inout PathMatcher, Int) -> Bool
    ) -> Bool {
        steps += 1
        guard steps <= Self.stepLimit else { return true }
        guard let segment = pattern.first else { return body(&self, start) }
        let rest = pattern.dropFirst()
        switch segment {
        case .literal(let text):
            guard start < path.count, case .known(let known) = path[start], known == text else { return false }
            return take(rest, at: start + 1, body)
        case .one:
            guard start < path.count, let value = Self.value(path[start]) else { return false }
            captures.append(value)
            defer { captures.removeLast() }
            return take(rest, at: start + 1, body)
        case .many:
            for end in start...path.count where end > start || version > 1 {
                captures.append(Self.value(path[start..<end]))
                defer { captures.removeLast() }
                if take(rest, at: end, body) { return true }
            }
            return false
        }
    }

    /// The value of a wildcard for one segment; nil for a segment that may be several.
    private static func value(_ segment: RequestSegment) -> RuleValue? {
        switch segment {
        case .known(let text): .string(text)
        case .unknown: .unknown(.present)
        case .unknownMany: nil
        }
    }

    private static func value(_ segments: ArraySlice<RequestSegment>) -> RuleValue {
        var path: [String] = []
        for segment in segments {
            guard case .known(let text) = segment else { return .unknown(.present) }
            path.append(text)
        }
        return .path(path)
    }
}

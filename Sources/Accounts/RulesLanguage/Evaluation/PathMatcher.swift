/// Finds the conditions that apply to a path.
struct PathMatcher {
    /// The most steps of matching for one request.
    static let stepLimit = 10_000

    private let version: Int
    private var steps = 0

    /// A condition that applies, and the values of the wildcards around it.
    struct Candidate {
        let allow: Program.Allow
        let captures: [RuleValue]
    }

    private init(version: Int) {
        self.version = version
    }

    /// Returns the conditions for a method on a path, in the order in which they are written.
    static func candidates(
        for method: RulesMethod, at path: [RequestSegment], in program: Program
    ) -> [Candidate] {
        var matcher = PathMatcher(version: program.version)
        var found: [Candidate] = []
        for match in program.matches { matcher.visit(match, path[...], [], method, &found) }
        return found
    }

    private mutating func visit(
        _ match: Program.Match, _ path: ArraySlice<RequestSegment>, _ captures: [RuleValue], _ method: RulesMethod,
        _ found: inout [Candidate]
    ) {
        take(match.pattern[...], path, captures) { matcher, rest, captures in
            guard rest.isEmpty else {
                for inner in match.matches { matcher.visit(inner, rest, captures, method, &found) }
                return
            }
            for allow in match.allows where allow.methods.contains(method) {
                found.append(Candidate(allow: allow, captures: captures))
            }
            // A recursive wildcard may take nothing.
            for inner in match.matches { matcher.visit(inner, rest, captures, method, &found) }
        }
    }

    /// Calls `body` for each way in which a pattern takes the beginning of a path.
    private mutating func take(
        _ pattern: ArraySlice<SyntaxTree.PatternSegment>, _ path: ArraySlice<RequestSegment>,
        _ captures: [RuleValue],
        _ body: (inout PathMatcher, ArraySlice<RequestSegment>, [RuleValue]) -> Void
    ) {
        steps += 1
        guard steps <= Self.stepLimit else { return }
        guard let segment = pattern.first else { return body(&self, path, captures) }
        let rest = pattern.dropFirst()
        switch segment {
        case .literal(let text):
            guard path.first == .known(text) else { return }
            take(rest, path.dropFirst(), captures, body)
        case .one:
            guard let value = path.first.flatMap(Self.value) else { return }
            take(rest, path.dropFirst(), captures + [value], body)
        case .many:
            let least = version > 1 ? 0 : 1
            guard path.count >= least else { return }
            for count in least...path.count {
                take(rest, path.dropFirst(count), captures + [Self.value(path.prefix(count))], body)
            }
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

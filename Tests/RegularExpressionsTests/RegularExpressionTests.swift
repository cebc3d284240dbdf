import RegularExpressions
import Testing

@Suite struct RegularExpressionTests {
    @Test(arguments: [
        ("a.c", "abc", true), ("a.c", "abcd", false), ("a|ab", "ab", true), ("", "", true), ("", "x", false),
        ("[a-z]+@[a-z]+", "me@here", true), (".*", "a\nb", false), ("(?s).*", "a\nb", true), ("a$", "a\n", false),
        ("\\d+", "٣", false), ("\\d+", "3", true), ("\\w", "é", false), (".", "é", true), ("(?i)ABC", "abc", true),
        ("^[^+]*\\+$", "x+", true), ("[[:alpha:]]+", "ab", true), ("\\p{Greek}+", "αβ", true),
        ("a{2,3}", "aaaa", false), ("a}+", "a}}", true),
        ("(?P<year>\\d{4})-x", "2026-x", true), ("[\\]]+", "]]", true), ("\\Qa.b\\E", "a.b", true),
    ])
    func matchesWholeTexts(_ pattern: String, _ text: String, _ expected: Bool) throws {
        #expect(try RegularExpression(pattern).matchesWhole(text) == expected)
    }

    @Test(arguments: [
        "(", "[a", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(a)\\1", "a++", "a*+", "a?+", "a{1,2}+", "(?R)",
        "(*ACCEPT)", "\\K", "\\G", "\\Z", "\\R", "\\X", "\\C", "a{1001}", "(?|a)", "(?P=x)", "(?&x)", "(?(1)a)",
    ])
    func refusesOtherSyntax(_ pattern: String) {
        #expect(throws: RegularExpressionError.self) { try RegularExpression(pattern) }
    }

    @Test func refusesLongPatterns() {
        #expect(throws: RegularExpressionError.self) { try RegularExpression(String(repeating: "a", count: 1501)) }
    }

    @Test(arguments: [
        ("b", "abcb", [1..<2, 3..<4]), ("b*", "abb", [0..<0, 1..<3]), ("", "é", [0..<0, 2..<2]), ("x", "abc", []),
        ("a|ab", "ab", [0..<1]), (",", ",", [0..<1]),
    ])
    func findsRanges(_ pattern: String, _ text: String, _ expected: [Range<Int>]) throws {
        #expect(try RegularExpression(pattern).ranges(in: text) == expected)
    }

    /// A backtracking matcher would need 2^40 steps for these.
    @Test(arguments: ["(a*)*b", "(a|a)*b", "(a|aa)+b", "([a-z]+)*\\d", "(.*)(.*)(.*)(.*)(.*)x"])
    func boundsTheWork(_ pattern: String) throws {
        let text = String(repeating: "a", count: 40)
        #expect(try !RegularExpression(pattern).matchesWhole(text))
        let long = String(repeating: "a", count: 100_000)
        _ = try? RegularExpression(pattern).matchesWhole(long)
        _ = try? RegularExpression(pattern).ranges(in: long)
    }
}

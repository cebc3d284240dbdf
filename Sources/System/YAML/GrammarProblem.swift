/// Translates libyaml's terse grammar errors into instructions for a person who edits a task file.
enum GrammarProblem {
    static func sentence(for problem: String) -> String {
        sentences[problem] ?? "this is not valid YAML (\(problem))"
    }

    /// Whether libyaml detects `problem` after its cause, so that the error must be reported at the
    /// position of the parser's context.
    static func isSeenLate(_ problem: String) -> Bool {
        switch problem {
        case "found unexpected end of stream", "found unexpected document indicator", "could not find expected ':'",
            "did not find expected ',' or ']'", "did not find expected ',' or '}'":
            true
        default: false
        }
    }

    private static let sentences = [
        "mapping values are not allowed in this context":
            "\": \" is not allowed here; put the value in quotes, or correct the line before",
        "did not find expected key": "this line does not belong to the key before it; check quotes and indentation",
        "could not find expected ':'": "a line is not \"key: value\"; add the \":\" or put a long value in quotes",
        "found character that cannot start any token":
            "a value cannot start with this character; put the value in quotes, and indent with spaces",
        "found unexpected end of stream": "a quote or bracket opens here and is never closed",
        "found unexpected document indicator": "a quote opens before this line and is never closed",
        "did not find expected ',' or ']'": "a list that opens with [ is not closed, or lacks a comma",
        "did not find expected ',' or '}'": "a map that opens with { is not closed, or lacks a comma",
        "did not find expected '-' indicator":
            "a list entry must start with \"- \" at the same indentation as the others",
        "did not find expected node content": "a value is missing here",
        "did not find expected alphabetic or numeric character":
            "a value cannot start with * or &; put the value in quotes",
        "did not find expected whitespace or line break": "put the value in quotes",
        "block sequence entries are not allowed in this context": "a list must start on the line after its key",
        "block mapping values are not allowed in this context": "a map must start on the line after its key",
        "found a tab character where an indentation space is expected": "indent with spaces, not with tabs",
        "found a tab character that violates indentation": "indent with spaces, not with tabs",
        "found unknown escape character":
            "a backslash in double quotes starts an unknown escape; write \\\\ for a backslash",
        "found undefined tag handle": "a value cannot start with !; put the value in quotes",
        "did not find expected <document start>": "the text must be lines of \"key: value\"",
    ]
}

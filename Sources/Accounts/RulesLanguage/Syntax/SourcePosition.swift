/// A place in the source of rules.
package struct SourcePosition: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The line, from 1.
    package let line: Int
    /// The column in characters of Unicode, from 1.
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package var description: String { "line \(line), column \(column)" }

    package static func < (left: Self, right: Self) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A mistake in the source of rules, found before any request is decided.
package struct RulesSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place of the mistake.
    package let position: SourcePosition
    /// The mistake, as a sentence.
    package let message: String

    init(_ message: String, at position: SourcePosition) {
        self.position = position
        self.message = message
    }

    package var description: String { "\(position): \(message)" }
}

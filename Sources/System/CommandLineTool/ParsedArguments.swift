/// The arguments of a command line, checked against the declaration.
package struct ParsedArguments: Sendable {
    /// The path of the command below the program: `["transfers", "pause"]`.
    package private(set) var path: [String] = []
    private var values: [String: [String]] = [:]
    private var positionals: [String: [String]] = [:]

    init(path: [String], values: [String: [String]], positionals: [String: [String]]) {
        self.path = path
        self.values = values
        self.positionals = positionals
    }

    /// Whether a flag, or an option with a value, was given.
    package func has(_ option: String) -> Bool { values[option] != nil }

    /// Returns the last value given for an option.
    package func value(_ option: String) -> String? { values[option]?.last }

    /// Returns all values of a repeatable option.
    package func values(_ option: String) -> [String] { values[option] ?? [] }

    /// Returns an option's value as an integer within a range.
    ///
    /// - Throws: `UsageError` for anything else.
    package func integer(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'.",
                path: path)
        }
        return number
    }

    /// Returns the words given for a positional argument.
    package func arguments(_ name: String) -> [String] { positionals[name] ?? [] }

    /// Returns the word given for a positional argument; nil only if it is optional and was
    /// omitted.
    package func argument(_ name: String) -> String? { positionals[name]?.first }
}

/// A command line that does not match the declaration: one sentence, and the command whose help
/// says more.
package struct UsageError: Error, Hashable, CustomStringConvertible {
    package let message: String
    /// The command's path below the program.
    package let path: [String]

    package init(_ message: String, path: [String] = []) {
        self.message = message
        self.path = path
    }

    package var description: String { message }
}

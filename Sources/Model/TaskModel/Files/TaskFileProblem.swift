/// The reason for which a task file is left unchanged: what is wrong, where, and what to do.
public struct TaskFileProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problem.
    public enum Code: String, Sendable, Hashable {
        /// The file is larger than a document may be.
        case tooLarge
        /// The bytes are not UTF-8, or contain NUL, as in files that were not written completely.
        case notText
        /// The file starts with `---`, but no closing line follows.
        case unterminatedFrontMatter
        /// The front matter is not YAML, or more than lines of `key: value`.
        case malformedFrontMatter
        case duplicateKey
        /// A key that no document can contain.
        case unusableKey
        /// The front matter has more values or nesting than allowed.
        case overLimit
        /// The front matter is valid, but the requested change could not be parsed back.
        case cannotEdit
    }

    /// The kind of problem.
    public let code: Code
    /// The problem and its remedy in one sentence, without the file's name.
    public let message: String
    /// The line in the file, counted from 1; nil if the problem concerns the whole file.
    public let line: Int?

    init(_ code: Code, _ message: String, line: Int? = nil) {
        self.code = code
        self.message = message
        self.line = line
    }

    /// The line and the message.
    public var description: String { line.map { "line \($0): \(message)" } ?? message }
}

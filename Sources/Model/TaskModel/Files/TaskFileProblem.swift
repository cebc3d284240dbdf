/// Why a task file is left alone: what is wrong, where, and what to do.
public struct TaskFileProblem: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, Hashable {
        /// The file is longer than a document may be.
        case tooLarge
        /// The bytes are not UTF-8, or hold NUL as files do that were never written to the end.
        case notText
        /// The file starts with `---` and no such line follows.
        case unterminatedFrontMatter
        /// Not YAML, or more than `key: value` lines.
        case malformedFrontMatter
        case duplicateKey
        /// A key that no document can hold.
        case unusableKey
        /// More values or nesting than allowed.
        case overLimit
        /// The front matter reads, but the wanted change would not read back.
        case cannotEdit
    }

    public let code: Code
    /// What is wrong and the remedy, in one sentence without the file's name.
    public let message: String
    /// Of the file, from 1; nil if the whole file is meant.
    public let line: Int?

    init(_ code: Code, _ message: String, line: Int? = nil) {
        self.code = code
        self.message = message
        self.line = line
    }

    public var description: String { line.map { "line \($0): \(message)" } ?? message }
}

/// Why a YAML text was refused, and where.
package struct YAMLError: Error, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The text does not follow YAML's grammar.
        case malformed
        /// The text is not UTF-8, or holds control characters that YAML forbids.
        case invalidCharacter
        /// A mapping has the same key twice.
        case duplicateKey
        /// `*name` refers to another part of the text.
        case alias
        /// More depth, nodes or bytes than allowed.
        case overLimit
        /// A second document follows the first.
        case multipleDocuments
        /// A key that the reader of a configuration does not know.
        case unknownKey
        /// A value of the wrong kind or out of range.
        case invalidValue
        /// libyaml could not get the memory it needs.
        case outOfMemory
    }

    package let code: Code
    /// What is wrong and what to do, as a sentence without its place; holds no content of the text except names of keys.
    package let message: String
    /// From 1.
    package let line: Int
    /// From 1, in characters.
    package let column: Int

    package init(_ code: Code, _ message: String, line: Int, column: Int) {
        self.code = code
        self.message = message
        self.line = line
        self.column = column
    }

    package var description: String { "line \(line), column \(column): \(message)" }
}

/// The reason for which a YAML text was refused, and its position.
package struct YAMLError: Error, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The text does not follow YAML's grammar.
        case malformed
        /// The text is not UTF-8, or contains control characters that YAML forbids.
        case invalidCharacter
        /// A mapping contains the same key twice.
        case duplicateKey
        /// `*name` refers to another part of the text, and references are not followed, or there is
        /// no `&name` before it.
        case alias
        /// The text exceeds the limits of depth, nodes or bytes.
        case overLimit
        /// A second document follows the first.
        case multipleDocuments
        /// A key that the reader of a configuration does not know.
        case unknownKey
        /// A value of the wrong kind or out of range.
        case invalidValue
        /// libyaml could not allocate memory.
        case outOfMemory
    }

    package let code: Code
    /// The problem and its remedy as a sentence without the position. Contains no text of the file
    /// except names of keys.
    package let message: String
    /// The line, counted from 1.
    package let line: Int
    /// The column in characters, counted from 1.
    package let column: Int

    package init(_ code: Code, _ message: String, line: Int, column: Int) {
        self.code = code
        self.message = message
        self.line = line
        self.column = column
    }

    package var description: String { "line \(line), column \(column): \(message)" }
}

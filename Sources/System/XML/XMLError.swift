/// The reason why an XML document was refused, and where.
package struct XMLError: Error, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The bytes do not follow XML's grammar, or are not text.
        case malformed
        /// The document has a document type, which could define entities and name other files.
        case documentType
        /// The document is larger, deeper or has more elements than allowed.
        case overLimit
        /// The parser could not get the memory that it needs.
        case outOfMemory
    }

    package let code: Code
    /// The problem, without its location and without any content of the document.
    package let message: String
    /// The line, counted from 1.
    package let line: Int
    /// The column, counted from 1 in bytes.
    package let column: Int

    package init(_ code: Code, _ message: String, line: Int = 1, column: Int = 1) {
        self.code = code
        self.message = message
        self.line = line
        self.column = column
    }

    package var description: String { "line \(line), column \(column): \(message)" }
}

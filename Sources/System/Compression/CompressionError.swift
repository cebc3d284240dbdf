/// The reason for which bytes could not be compressed or decompressed.
package struct CompressionError: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The bytes are not a complete stream, or its checksum does not match.
        case corrupt
        /// The stream contains more than the caller accepts, or bytes follow its end.
        case tooLong
        /// Memory for the tables could not be allocated.
        case outOfMemory
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

/// Why bytes could not be compressed or inflated.
package struct CompressionError: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The bytes are not a whole zlib stream, or its checksum does not match.
        case corrupt
        /// There is more in the stream than the caller has room for, or bytes follow its end.
        case tooLong
        /// There is no memory for the tables.
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

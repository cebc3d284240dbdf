/// Why bytes could not be inflated.
package struct CompressionError: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The bytes are not a zlib stream, or its checksum does not match.
        case corrupt
        /// The stream ends before its end mark.
        case truncated
        /// There is more in the stream than the caller has room for, or bytes follow its end.
        case tooLong
        /// zlib could not get the memory it needs.
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

/// The error for bytes that are no message of the protocol, and for messages with invalid content.
///
/// A server responds to each of them with INVALID_ARGUMENT and `description`, because the client
/// has caused it. Messages never contain the content of documents.
package struct ProtocolError: Error, Hashable, CustomStringConvertible {
    package struct Code: Sendable, Hashable {
        private enum Kind: Sendable, Hashable {
            case malformed
            case invalid
            case tooLarge
        }

        private let kind: Kind

        /// The bytes are not in the wire format (truncated, overlong varint, bad UTF-8 …).
        package static let malformed = Code(kind: .malformed)
        /// The wire format is valid, but a field is missing or has an invalid value.
        package static let invalid = Code(kind: .invalid)
        /// A limit of the size or the nesting is exceeded.
        package static let tooLarge = Code(kind: .tooLarge)
    }

    package let code: Code
    package let message: String
    /// The position of the error, outermost first: `field 2 (Write)`, `field 1 (Document)` …
    package private(set) var path: [String] = []

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Returns the same error as an error of the message that contains this one.
    func inside(_ type: Any.Type, field: Int) -> ProtocolError {
        var outer = self
        outer.path.insert("field \(field) (\(type))", at: 0)
        return outer
    }

    /// The message for the client. For an invalid message it is exactly that of production;
    /// malformed bytes are reported with their position.
    package var description: String {
        code == .invalid || path.isEmpty ? message : "\(message) (at \(path.joined(separator: " > ")))"
    }
}

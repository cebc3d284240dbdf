/// Bytes that are no message of the protocol, or a message that says something impossible.
///
/// To a server each one is the client's fault: it answers INVALID_ARGUMENT with `description`. Messages never carry document content.
package struct ProtocolError: Error, Hashable, CustomStringConvertible {
    package struct Code: Sendable, Hashable {
        private enum Kind: Sendable, Hashable {
            case malformed
            case invalid
            case tooLarge
        }

        private let kind: Kind

        /// The bytes break the wire format (truncated, overlong varint, bad UTF-8 …).
        package static let malformed = Code(kind: .malformed)
        /// The wire format is sound, but a field is missing or holds what it must not.
        package static let invalid = Code(kind: .invalid)
        /// A limit on size or nesting is exceeded.
        package static let tooLarge = Code(kind: .tooLarge)
    }

    package let code: Code
    package let message: String
    /// Where it happened, outermost first: `field 2 (Write)`, `field 1 (Document)` …
    package private(set) var path: [String] = []

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same error, seen from the message around it.
    func inside(_ type: Any.Type, field: Int) -> ProtocolError {
        var outer = self
        outer.path.insert("field \(field) (\(type))", at: 0)
        return outer
    }

    /// An invalid message keeps production's words alone; broken bytes are told with their place.
    package var description: String {
        code == .invalid || path.isEmpty ? message : "\(message) (at \(path.joined(separator: " > ")))"
    }
}

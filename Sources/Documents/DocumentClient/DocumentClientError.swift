/// What a client could not do. `message` says what failed, on which document, and what to do; never document content.
public struct DocumentClientError: Error, Sendable, CustomStringConvertible {
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalid, notFound, corrupt, storage, closed, contention, remote
        }

        private let kind: Kind

        /// The call makes no sense: a document of another database, an impossible query.
        public static let invalid = Code(kind: .invalid)
        /// An update of a document that is known not to exist.
        public static let notFound = Code(kind: .notFound)
        /// The state file contradicts itself.
        public static let corrupt = Code(kind: .corrupt)
        /// The state file cannot be read or written: disk full, permissions, damage.
        public static let storage = Code(kind: .storage)
        /// The client was closed.
        public static let closed = Code(kind: .closed)
        /// A transaction lost against other writers every time.
        public static let contention = Code(kind: .contention)
        /// The remote refused; the cause is a `RemoteError`.
        public static let remote = Code(kind: .remote)

        public var description: String { kind.rawValue }
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String { message }
}

/// An operation that the client could not perform. `message` says what failed, for which document,
/// and what to do; it never contains document content.
public struct DocumentClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalid, notFound, corrupt, storage, inUse, closed, contention, remote, rejected, discarded
        }

        private let kind: Kind

        /// The call is invalid: a document of another database, or a query that cannot be run.
        public static let invalid = Code(kind: .invalid)
        /// An update of a document that is known not to exist.
        public static let notFound = Code(kind: .notFound)
        /// The state file contradicts itself.
        public static let corrupt = Code(kind: .corrupt)
        /// The state file cannot be read or written: disk full, permissions, damage.
        public static let storage = Code(kind: .storage)
        /// Another client has the state file open.
        public static let inUse = Code(kind: .inUse)
        /// The client was closed.
        public static let closed = Code(kind: .closed)
        /// A transaction conflicted with other writers in every attempt.
        public static let contention = Code(kind: .contention)
        /// The remote refused the request. The cause is a `RemoteError`.
        public static let remote = Code(kind: .remote)

        /// The remote rejected a change, which is kept until it is retried or discarded. The
        /// message is the remote's reason.
        public static let rejected = Code(kind: .rejected)
        /// A change was discarded before the remote had it.
        public static let discarded = Code(kind: .discarded)

        /// The name of the kind.
        public var description: String { kind.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The description of the failure.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The same as `message`.
    public var description: String { message }
}
